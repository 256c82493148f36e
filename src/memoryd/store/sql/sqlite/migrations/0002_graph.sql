-- a perspective is a template, which fits any model
ALTER TABLE perspectives RENAME COLUMN instruction TO template;

-- a workspace that was archived or deleted takes no more writes, whoever still has its file open
CREATE TABLE put_away (workspace_id TEXT PRIMARY KEY) WITHOUT ROWID;

-- the oldest relations of an entity are found without a look at all of them
DROP INDEX relations_from;
DROP INDEX relations_to;
CREATE INDEX relations_from ON relations (workspace_id, from_entity, created_at);
CREATE INDEX relations_to ON relations (workspace_id, to_entity, created_at);
CREATE INDEX relations_purge ON relations (workspace_id, deleted_at) WHERE deleted_at IS NOT NULL;


-- Every index begins with the workspace, and SQLite takes the first column of an index for a selective one unless it is
-- told: it then reads a whole workspace where one row is wanted. These are the proportions of a large file, not counts;
-- they are given rather than gathered, so that plans do not change with the data.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('records', 'sqlite_autoindex_records_1', '1000000 100000 1'),
  ('records', 'records_name', '200000 20000 10000 5000 1'),
  ('records', 'records_type', '1000000 100000 20000 2000 1'),
  ('records', 'records_session', '500000 50000 50 1'),
  ('records', 'records_recent', '1000000 100000 20000 1'),
  ('records', 'records_volatile', '10000 1000 20'),
  ('records', 'records_purge', '10000 1000 10'),
  ('memory_details', 'memory_details', '500000 50000 1'),
  ('memory_details', 'memory_details_fingerprint', '500000 50000 1'),
  ('memory_details', 'memory_details_importance', '500000 50000 5000'),
  ('entity_details', 'entity_details', '100000 10000 1'),
  ('observation_details', 'observation_details', '500000 50000 5 1'),
  ('observation_details', 'sqlite_autoindex_observation_details_2', '500000 50000 1'),
  ('relations', 'relations', '300000 30000 1'),
  ('relations', 'relations_live', '300000 30000 4 1 1'),
  ('relations', 'relations_from', '300000 30000 4 1'),
  ('relations', 'relations_to', '300000 30000 4 1'),
  ('relations', 'relations_purge', '10000 1000 10'),
  ('record_tags', 'record_tags', '1000000 100000 100 1'),
  ('record_tags', 'record_tags_rid', '1000000 2'),
  ('embeddings', 'sqlite_autoindex_embeddings_1', '3000000 300000 6 2 1 1'),
  ('embeddings', 'embeddings_load', '3000000 300000 50000 50000 1 1'),
  ('events', 'events_at', '2000000 200000 1');
ANALYZE sqlite_schema;
