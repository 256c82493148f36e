-- the name of a node before it got another one
ALTER TABLE versions ADD COLUMN name TEXT COLLATE "C";

CREATE TABLE endings (                         -- who deleted a record, and the node that it became one with, or ''
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, at TEXT COLLATE "C" NOT NULL,
  successor TEXT COLLATE "C" NOT NULL, client TEXT NOT NULL, tool TEXT NOT NULL,
  PRIMARY KEY (workspace_id, id, at),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE);
ALTER TABLE endings ALTER workspace_id SET STATISTICS 0;
