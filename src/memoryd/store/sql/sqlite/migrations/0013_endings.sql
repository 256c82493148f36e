-- the name of a node before it got another one
ALTER TABLE versions ADD COLUMN name TEXT;

CREATE TABLE endings (                        -- who deleted a record, and the node that it became one with, or ''
  workspace_id TEXT NOT NULL, id TEXT NOT NULL, at TEXT NOT NULL, successor TEXT NOT NULL, client TEXT NOT NULL,
  tool TEXT NOT NULL,
  PRIMARY KEY (workspace_id, id, at),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

-- the proportions of it, as 0002 gives those of the others
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('endings', 'endings', '20000 2000 1 1');
ANALYZE sqlite_schema;
