-- the proportions of the journal's tables, as 0002 gives those of the others
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('interaction_details', 'interaction_details', '500000 50000 1'),
  ('summary_details', 'summary_details', '50000 5000 1');
ANALYZE sqlite_schema;
