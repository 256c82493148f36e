-- the records of a span of time, which a search may ask for

CREATE INDEX records_created ON records (workspace_id, created_at) WHERE deleted_at IS NULL;

-- the proportions of it, as 0002 gives those of the others
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('records', 'records_created', '1000000 100000 1');
ANALYZE sqlite_schema;
