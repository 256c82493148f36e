-- vectors: plain rows beside the texts; seq grows with each, so that an index in memory knows what is new

CREATE TABLE embeddings (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id TEXT NOT NULL, id TEXT NOT NULL, chunk INTEGER NOT NULL,
  perspective TEXT NOT NULL, model TEXT NOT NULL, dim INTEGER NOT NULL,
  vector BLOB NOT NULL,                       -- float16, unit length
  UNIQUE (workspace_id, id, perspective, model, chunk),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE);
CREATE INDEX embeddings_load ON embeddings (workspace_id, perspective, model, seq, chunk);

CREATE TABLE embedding_tombstones (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id TEXT NOT NULL, embedding INTEGER NOT NULL);

CREATE TRIGGER embeddings_ad AFTER DELETE ON embeddings BEGIN
  INSERT INTO embedding_tombstones (workspace_id, embedding) VALUES (old.workspace_id, old.seq); END;
CREATE TRIGGER records_gone AFTER UPDATE OF deleted_at ON records
WHEN new.deleted_at IS NOT NULL AND old.deleted_at IS NULL BEGIN
  DELETE FROM embeddings                      -- a restored record is embedded anew; a caller's own vectors cannot be
  WHERE workspace_id = new.workspace_id AND id = new.id AND perspective <> 'client'; END;


-- words: the content is a view of the living rows, so that integrity-check and rebuild agree with soft delete. The
-- function `indexed`, which memoryd gives each of its connections, cuts scripts without blanks into overlapping pairs of
-- letters and adds the words within an identifier ("user profile" finds getUserProfile).
-- tags: found by table in 0.1 ms where json_each takes 21 ms, at 100,000 records

CREATE TABLE record_tags (
  workspace_id TEXT NOT NULL, tag TEXT NOT NULL, rid INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, tag, rid)) WITHOUT ROWID;
CREATE INDEX record_tags_rid ON record_tags (rid);

CREATE VIEW live_text AS
  SELECT rid, 'w' || replace(workspace_id, '-', '') || ' k' || kind AS scope_tokens,
    indexed(coalesce(name, '')) AS title, indexed(type) AS type, indexed(body || ' ' || related) AS body,
    indexed(tags) AS tags
  FROM records WHERE deleted_at IS NULL;
CREATE VIRTUAL TABLE records_fts USING fts5(
  scope_tokens, title, type, body, tags, content='live_text', content_rowid='rid',
  tokenize='porter unicode61 remove_diacritics 2');

CREATE TRIGGER records_ai AFTER INSERT ON records WHEN new.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(rowid, scope_tokens, title, type, body, tags) SELECT * FROM live_text WHERE rid = new.rid;
  INSERT INTO record_tags SELECT DISTINCT new.workspace_id, value, new.rid FROM json_each(new.tags); END;
CREATE TRIGGER records_bu BEFORE UPDATE OF name, type, body, tags, related, deleted_at ON records
WHEN old.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(records_fts, rowid, scope_tokens, title, type, body, tags)
    SELECT 'delete', * FROM live_text WHERE rid = old.rid;
  DELETE FROM record_tags WHERE rid = old.rid; END;
CREATE TRIGGER records_au AFTER UPDATE OF name, type, body, tags, related, deleted_at ON records
WHEN new.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(rowid, scope_tokens, title, type, body, tags) SELECT * FROM live_text WHERE rid = new.rid;
  INSERT INTO record_tags SELECT DISTINCT new.workspace_id, value, new.rid FROM json_each(new.tags); END;
CREATE TRIGGER records_bd BEFORE DELETE ON records WHEN old.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(records_fts, rowid, scope_tokens, title, type, body, tags)
    SELECT 'delete', * FROM live_text WHERE rid = old.rid;
  DELETE FROM record_tags WHERE rid = old.rid; END;

-- which records got other words or lost them: what a process has in memory of the index is read again from there on
CREATE TABLE word_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, rid INTEGER NOT NULL);
CREATE TRIGGER word_changes_ai AFTER INSERT ON word_changes BEGIN  -- who is further behind reads all again
  DELETE FROM word_changes WHERE seq <= new.seq - 1000; END;
CREATE TRIGGER records_reworded AFTER UPDATE OF name, type, body, tags, related, deleted_at ON records BEGIN
  INSERT INTO word_changes (rid) VALUES (old.rid); END;
CREATE TRIGGER records_erased AFTER DELETE ON records WHEN old.deleted_at IS NULL BEGIN
  INSERT INTO word_changes (rid) VALUES (old.rid); END;


-- the relations of an entity are part of its words: "who works at Acme" finds Ann. `related` lists them as JSON, each as
-- [source, type, target] with '' for the entity itself, the oldest 50, with names cut at 200 characters, so that neither
-- its text nor a write grows with the number of relations

CREATE VIEW entity_related AS
  SELECT e.rid, e.workspace_id, e.id, (
    SELECT json_group_array(json_array(source, type, target)) FROM (
      SELECT * FROM (
        SELECT x.created_at, x.id, '' AS source, x.relation_type AS type,
          CASE WHEN x.to_entity = e.id THEN '' ELSE substr(n.name, 1, 200) END AS target
        FROM relations x JOIN records n ON n.workspace_id = x.workspace_id AND n.id = x.to_entity
        WHERE x.workspace_id = e.workspace_id AND x.from_entity = e.id AND x.deleted_at IS NULL
        ORDER BY x.created_at, x.id LIMIT 50)
      UNION ALL
      SELECT * FROM (
        SELECT x.created_at, x.id, substr(n.name, 1, 200) AS source, x.relation_type AS type, '' AS target
        FROM relations x JOIN records n ON n.workspace_id = x.workspace_id AND n.id = x.from_entity
        WHERE x.workspace_id = e.workspace_id AND x.to_entity = e.id AND x.from_entity <> e.id AND x.deleted_at IS NULL
        ORDER BY x.created_at, x.id LIMIT 50)
      ORDER BY created_at, id LIMIT 50)) AS related
  FROM records e WHERE e.kind = 'entity' AND e.deleted_at IS NULL;

-- whatever changes a relation or the name of an end: a tool, an import, a restore, a copy
CREATE TRIGGER relations_ai AFTER INSERT ON relations WHEN new.deleted_at IS NULL BEGIN
  UPDATE records SET related = e.related FROM entity_related e
  WHERE e.workspace_id = new.workspace_id AND e.id IN (new.from_entity, new.to_entity) AND records.rid = e.rid
    AND records.related <> e.related; END;
CREATE TRIGGER relations_au AFTER UPDATE OF deleted_at ON relations BEGIN
  UPDATE records SET related = e.related FROM entity_related e
  WHERE e.workspace_id = new.workspace_id AND e.id IN (new.from_entity, new.to_entity) AND records.rid = e.rid
    AND records.related <> e.related; END;
CREATE TRIGGER relations_ad AFTER DELETE ON relations WHEN old.deleted_at IS NULL BEGIN
  UPDATE records SET related = e.related FROM entity_related e
  WHERE e.workspace_id = old.workspace_id AND e.id IN (old.from_entity, old.to_entity) AND records.rid = e.rid
    AND records.related <> e.related; END;
CREATE TRIGGER records_renamed AFTER UPDATE OF name ON records WHEN new.kind = 'entity' AND new.name <> old.name BEGIN
  UPDATE records SET related = e.related FROM entity_related e
  WHERE e.workspace_id = new.workspace_id AND e.id IN (
      SELECT to_entity FROM relations WHERE workspace_id = new.workspace_id AND from_entity = new.id AND deleted_at IS NULL
      UNION SELECT from_entity FROM relations
      WHERE workspace_id = new.workspace_id AND to_entity = new.id AND deleted_at IS NULL)
    AND records.rid = e.rid AND records.related <> e.related; END;


CREATE VIEW vault_memories AS
  SELECT r.rid AS id, r.workspace_id, r.name AS key, r.body AS content, r.tags, e.vector AS embedding, r.created_at,
    r.updated_at
  FROM records r LEFT JOIN embeddings e ON e.workspace_id = r.workspace_id AND e.id = r.id AND e.perspective = 'client'
  WHERE r.kind = 'memory' AND r.scope = '' AND r.name IS NOT NULL AND r.deleted_at IS NULL;


-- Every index begins with the workspace, and SQLite takes the first column of an index for a selective one unless it is
-- told: it then reads a whole workspace where one row is wanted. These are the proportions of a large file, not counts;
-- they are given rather than gathered, so that plans do not change with the data.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('records', 'sqlite_autoindex_records_1', '1000000 100000 1'),
  ('records', 'records_name', '200000 20000 10000 5000 1'),
  ('records', 'records_spelling', '100000 10000 1'),
  ('records', 'records_type', '1000000 100000 20000 2000 1'),
  ('records', 'records_session', '500000 50000 50 1'),
  ('records', 'records_recent', '1000000 100000 20000 1'),
  ('records', 'records_created', '1000000 100000 1'),
  ('records', 'records_volatile', '10000 1000 20'),
  ('records', 'records_purge', '10000 1000 10'),
  ('memory_details', 'memory_details', '500000 50000 1'),
  ('memory_details', 'memory_details_fingerprint', '500000 50000 1'),
  ('memory_details', 'memory_details_importance', '500000 50000 5000'),
  ('memory_details', 'memory_details_gist', '500000 50000 1'),
  ('memory_details', 'memory_details_succession', '20000 2000 2'),
  ('memory_details', 'memory_details_fresh', '1000 100 1'),
  ('memory_details', 'memory_details_unjudged', '1000 100 1'),
  ('entity_details', 'entity_details', '100000 10000 1'),
  ('observation_details', 'observation_details', '500000 50000 5 1'),
  ('observation_details', 'sqlite_autoindex_observation_details_2', '500000 50000 1'),
  ('interaction_details', 'interaction_details', '500000 50000 1'),
  ('summary_details', 'summary_details', '50000 5000 1'),
  ('relations', 'relations', '300000 30000 1'),
  ('relations', 'relations_live', '300000 30000 4 1 1'),
  ('relations', 'relations_from', '300000 30000 4 1'),
  ('relations', 'relations_to', '300000 30000 4 1'),
  ('relations', 'relations_purge', '10000 1000 10'),
  ('versions', 'versions', '20000 2000 2 1'),
  ('versions', 'versions_until', '20000 2000 1'),
  ('events', 'events_at', '2000000 200000 1'),
  ('acts', 'acts', '20000 2000 1 1'),
  ('acts', 'acts_operation', '20000 2000 200 2'),
  ('record_tags', 'record_tags', '1000000 100000 100 1'),
  ('record_tags', 'record_tags_rid', '1000000 2'),
  ('embeddings', 'sqlite_autoindex_embeddings_1', '3000000 300000 6 2 1 1'),
  ('embeddings', 'embeddings_load', '3000000 300000 50000 50000 1 1');
ANALYZE sqlite_schema;
