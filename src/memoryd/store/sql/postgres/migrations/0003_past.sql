-- who wrote a record, and by what: a client's name, a tool or a command
ALTER TABLE records ADD COLUMN client TEXT NOT NULL DEFAULT '', ADD COLUMN tool TEXT NOT NULL DEFAULT '';

-- how a memory ended whose place another one took: `merged`, `superseded`, `compacted`; and why
ALTER TABLE memory_details ADD COLUMN ending TEXT NOT NULL DEFAULT '', ADD COLUMN reason TEXT NOT NULL DEFAULT '';

-- of what it says, whatever its form: consolidation finds others by it
ALTER TABLE memory_details ADD COLUMN gist TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX memory_details_gist ON memory_details (workspace_id, gist) WHERE gist <> '';
CREATE INDEX memory_details_succession ON memory_details (workspace_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_details_fresh ON memory_details (workspace_id, id) WHERE consolidated = 0;

-- what has a key, or is a session's, is not consolidated
UPDATE memory_details SET consolidated = 1 WHERE EXISTS (
  SELECT 1 FROM records r WHERE r.workspace_id = memory_details.workspace_id AND r.id = memory_details.id
    AND (r.name IS NOT NULL OR r.scope <> ''));

CREATE TABLE versions (                        -- what a record said before, until when
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, until TEXT COLLATE "C" NOT NULL,
  body TEXT NOT NULL, tags TEXT NOT NULL, importance DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (workspace_id, id, until),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE);
CREATE INDEX versions_until ON versions (workspace_id, until);
ALTER TABLE versions ALTER workspace_id SET STATISTICS 0;
