-- registry: used in _meta.db, or in the one file that holds everything

CREATE TABLE projects (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL DEFAULT '',
  db_path TEXT NOT NULL,                      -- '' = this file
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived')),
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL);

CREATE TABLE sessions (                       -- keyed by who, not by workspace: a session chooses one
  principal TEXT NOT NULL, id TEXT NOT NULL, active_project TEXT, PRIMARY KEY (principal, id)) WITHOUT ROWID;

CREATE TABLE session_holders (                -- one row a process; a session's rows go with the last holder
  principal TEXT NOT NULL, id TEXT NOT NULL, holder TEXT NOT NULL, expires_at TEXT NOT NULL,
  PRIMARY KEY (principal, id, holder)) WITHOUT ROWID;


-- records: anything with text in a workspace

CREATE TABLE records (
  rid INTEGER PRIMARY KEY AUTOINCREMENT,      -- the key of words and vectors; a bare rowid moves at VACUUM
  workspace_id TEXT NOT NULL, id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('memory', 'entity', 'observation', 'interaction', 'summary')),
  name TEXT,                                  -- memory key, entity name, summary title
  type TEXT NOT NULL DEFAULT '',              -- entity_type, summary category, 'agent-interaction'
  body TEXT NOT NULL,                         -- content; entity summary; prompt + thought + response
  tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  scope TEXT NOT NULL DEFAULT '',             -- '' durable; else the session whose end removes the row
  session_id TEXT,                            -- provenance only; nothing is ever deleted by it
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT,
  UNIQUE (workspace_id, id));
CREATE UNIQUE INDEX records_name ON records (workspace_id, kind, scope, name)
  WHERE deleted_at IS NULL AND name IS NOT NULL AND kind IN ('memory', 'entity');
CREATE INDEX records_type ON records (workspace_id, kind, type, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX records_session ON records (workspace_id, session_id, created_at)
  WHERE session_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX records_recent ON records (workspace_id, kind, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX records_volatile ON records (workspace_id, scope) WHERE scope <> '';
CREATE INDEX records_purge ON records (workspace_id, deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE memory_details (
  workspace_id TEXT NOT NULL, id TEXT NOT NULL,
  fingerprint TEXT NOT NULL DEFAULT '',       -- of what it says; equal ones say the same
  importance REAL NOT NULL DEFAULT .5, access_count INTEGER NOT NULL DEFAULT 0, accessed_at TEXT,
  consolidated INTEGER NOT NULL DEFAULT 0, superseded_by TEXT,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX memory_details_fingerprint ON memory_details (workspace_id, fingerprint);
CREATE INDEX memory_details_importance ON memory_details (workspace_id, importance);

CREATE TABLE entity_details (
  workspace_id TEXT NOT NULL, id TEXT NOT NULL, summary_updated_at TEXT, next_ordinal INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE observation_details (
  workspace_id TEXT NOT NULL, entity_id TEXT NOT NULL, ordinal INTEGER NOT NULL, id TEXT NOT NULL,
  PRIMARY KEY (workspace_id, entity_id, ordinal), UNIQUE (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, entity_id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE interaction_details (            -- where the body is cut: its three texts are stored once
  workspace_id TEXT NOT NULL, id TEXT NOT NULL, thought_at INTEGER NOT NULL, response_at INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE summary_details (
  workspace_id TEXT NOT NULL, id TEXT NOT NULL, memory_count INTEGER NOT NULL,
  quality INTEGER, productivity INTEGER, impact INTEGER, complexity INTEGER, technologies TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE relations (                      -- no text, so no record
  workspace_id TEXT NOT NULL, id TEXT NOT NULL, from_entity TEXT NOT NULL, to_entity TEXT NOT NULL,
  relation_type TEXT NOT NULL, created_at TEXT NOT NULL, deleted_at TEXT,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, from_entity) REFERENCES records (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, to_entity) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE UNIQUE INDEX relations_live ON relations (workspace_id, from_entity, to_entity, relation_type)
  WHERE deleted_at IS NULL;
CREATE INDEX relations_from ON relations (workspace_id, from_entity);
CREATE INDEX relations_to ON relations (workspace_id, to_entity);

CREATE TABLE events (                         -- no key to the record: they outlive it
  workspace_id TEXT NOT NULL, seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, operation TEXT NOT NULL,
  subject TEXT);
CREATE INDEX events_at ON events (workspace_id, at);


-- tags: found by table in 0.1 ms where json_each takes 21 ms, at 100,000 records

CREATE TABLE record_tags (
  workspace_id TEXT NOT NULL, tag TEXT NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY (workspace_id, tag, rid)) WITHOUT ROWID;
CREATE INDEX record_tags_rid ON record_tags (rid);


-- vectors: plain rows beside the texts; seq grows with each, so that an index in memory knows what is new

CREATE TABLE perspectives (
  workspace_id TEXT NOT NULL, name TEXT NOT NULL, instruction TEXT NOT NULL,
  PRIMARY KEY (workspace_id, name)) WITHOUT ROWID;

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


-- words: the content is a view of the living rows, so that integrity-check and rebuild agree with soft delete

CREATE VIEW live_text AS
  SELECT rid, 'w' || replace(workspace_id, '-', '') || ' k' || kind AS scope_tokens, coalesce(name, '') AS title, type,
    body, tags
  FROM records WHERE deleted_at IS NULL;
CREATE VIRTUAL TABLE records_fts USING fts5(
  scope_tokens, title, type, body, tags, content='live_text', content_rowid='rid',
  tokenize='porter unicode61 remove_diacritics 2');

CREATE TRIGGER records_ai AFTER INSERT ON records WHEN new.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(rowid, scope_tokens, title, type, body, tags) SELECT * FROM live_text WHERE rid = new.rid;
  INSERT INTO record_tags SELECT DISTINCT new.workspace_id, value, new.rid FROM json_each(new.tags); END;
CREATE TRIGGER records_bu BEFORE UPDATE OF name, type, body, tags, deleted_at ON records
WHEN old.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(records_fts, rowid, scope_tokens, title, type, body, tags)
    SELECT 'delete', * FROM live_text WHERE rid = old.rid;
  DELETE FROM record_tags WHERE rid = old.rid; END;
CREATE TRIGGER records_au AFTER UPDATE OF name, type, body, tags, deleted_at ON records
WHEN new.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(rowid, scope_tokens, title, type, body, tags) SELECT * FROM live_text WHERE rid = new.rid;
  INSERT INTO record_tags SELECT DISTINCT new.workspace_id, value, new.rid FROM json_each(new.tags); END;
CREATE TRIGGER records_bd BEFORE DELETE ON records WHEN old.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(records_fts, rowid, scope_tokens, title, type, body, tags)
    SELECT 'delete', * FROM live_text WHERE rid = old.rid;
  DELETE FROM record_tags WHERE rid = old.rid; END;
CREATE TRIGGER records_gone AFTER UPDATE OF deleted_at ON records
WHEN new.deleted_at IS NOT NULL AND old.deleted_at IS NULL BEGIN
  DELETE FROM embeddings                      -- a restored record is embedded anew; a caller's own vectors cannot be
  WHERE workspace_id = new.workspace_id AND id = new.id AND perspective <> 'client'; END;


-- the specifications' own names, to read

CREATE VIEW entities AS
  SELECT workspace_id, id, name, type AS entity_type, nullif(body, '') AS summary, tags, created_at, updated_at,
    deleted_at
  FROM records WHERE kind = 'entity';
CREATE VIEW observations AS
  SELECT r.workspace_id, r.id, o.entity_id, o.ordinal, r.body AS content, r.created_at, r.deleted_at
  FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id;
CREATE VIEW session_memories AS
  SELECT rid AS id, workspace_id, scope AS session_id, name AS key, body AS content, tags, created_at
  FROM records WHERE kind = 'memory' AND scope <> '' AND deleted_at IS NULL;
CREATE VIEW vault_memories AS
  SELECT r.rid AS id, r.workspace_id, r.name AS key, r.body AS content, r.tags, e.vector AS embedding, r.created_at,
    r.updated_at
  FROM records r LEFT JOIN embeddings e ON e.workspace_id = r.workspace_id AND e.id = r.id AND e.perspective = 'client'
  WHERE r.kind = 'memory' AND r.scope = '' AND r.name IS NOT NULL AND r.deleted_at IS NULL;
