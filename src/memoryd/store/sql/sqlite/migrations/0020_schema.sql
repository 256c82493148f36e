-- registry: used in _meta.db, or in the one file that holds everything

CREATE TABLE projects (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL DEFAULT '',
  db_path TEXT NOT NULL,                      -- '' = this file
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived')),
  includes TEXT NOT NULL DEFAULT '[]',        -- the ids of workspaces that are read together with it
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL);

CREATE TABLE workspace_keys (                 -- how a project of the user's finds its workspace again
  key TEXT PRIMARY KEY, project TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX workspace_keys_project ON workspace_keys (project);

CREATE TABLE sessions (                       -- keyed by who, not by workspace: a session chooses one
  principal TEXT NOT NULL, id TEXT NOT NULL, active_project TEXT, PRIMARY KEY (principal, id)) WITHOUT ROWID;

CREATE TABLE session_holders (                -- one row a process; a session's rows go with the last holder
  principal TEXT NOT NULL, id TEXT NOT NULL, holder TEXT NOT NULL, expires_at TEXT NOT NULL,
  PRIMARY KEY (principal, id, holder)) WITHOUT ROWID;

CREATE TABLE leases (                         -- what only one process should do at a time
  name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at TEXT NOT NULL) WITHOUT ROWID;


-- access: hashes in place of secrets; a `workspace` is an id, or '' for all

CREATE TABLE tokens (                         -- who may come in over HTTP; `level`, or the names in `tools`
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash TEXT NOT NULL, level TEXT NOT NULL, tools TEXT NOT NULL,
  workspace TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE accounts (                       -- people with a password; level and workspace bound what they may grant
  name TEXT PRIMARY KEY, hash TEXT NOT NULL, level TEXT NOT NULL, workspace TEXT NOT NULL,
  created_at TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE oauth_clients (                  -- clients that registered themselves; `secret` is '' if one has none
  id TEXT PRIMARY KEY, name TEXT NOT NULL, secret TEXT NOT NULL, method TEXT NOT NULL, redirect_uris TEXT NOT NULL,
  created_at TEXT NOT NULL, used_at TEXT NOT NULL) WITHOUT ROWID;

-- requests of clients to log in, from the first redirect until their code has expired; `id`, `browser` and `code` are
-- hashes; `level` and `workspace` bound what the person may grant
CREATE TABLE authorizations (
  id TEXT PRIMARY KEY, client TEXT NOT NULL, client_name TEXT NOT NULL, redirect_uri TEXT NOT NULL,
  state TEXT NOT NULL, challenge TEXT NOT NULL, asked TEXT NOT NULL, browser TEXT NOT NULL, subject TEXT NOT NULL,
  person TEXT NOT NULL, level TEXT NOT NULL, workspace TEXT NOT NULL, until TEXT NOT NULL, code TEXT NOT NULL,
  login TEXT NOT NULL, used_at TEXT NOT NULL, expires_at TEXT NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX authorizations_code ON authorizations (code) WHERE code <> '';

CREATE TABLE logins (                         -- what people granted to clients; a token of one is in `login_tokens`
  id TEXT PRIMARY KEY, subject TEXT NOT NULL, person TEXT NOT NULL, client TEXT NOT NULL, client_name TEXT NOT NULL,
  level TEXT NOT NULL, workspace TEXT NOT NULL, created_at TEXT NOT NULL, used_at TEXT NOT NULL,
  expires_at TEXT NOT NULL) WITHOUT ROWID;

-- a refresh token that was used has `rotated_at`, and `salt`: from it and from itself its one successor is derived
CREATE TABLE login_tokens (
  hash TEXT PRIMARY KEY, login TEXT NOT NULL, kind TEXT NOT NULL, expires_at TEXT NOT NULL,
  rotated_at TEXT NOT NULL, salt TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE INDEX login_tokens_login ON login_tokens (login);

CREATE TABLE access_log (                     -- who was let in, and what was changed about that
  id TEXT PRIMARY KEY, at TEXT NOT NULL, act TEXT NOT NULL, subject TEXT NOT NULL, client TEXT NOT NULL,
  detail TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX access_log_at ON access_log (at);


-- records: anything with text in a workspace

CREATE TABLE records (
  rid INTEGER PRIMARY KEY AUTOINCREMENT,      -- the key of words and vectors; a bare rowid moves at VACUUM
  workspace_id TEXT NOT NULL, id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('memory', 'entity', 'observation', 'interaction', 'summary')),
  name TEXT,                                  -- memory key, entity name, summary title
  type TEXT NOT NULL DEFAULT '',              -- entity_type, summary category, 'agent-interaction'
  body TEXT NOT NULL,                         -- content; entity summary; prompt + thought + response
  tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
  related TEXT NOT NULL DEFAULT '[]',         -- of an entity, kept by triggers: see entity_related
  scope TEXT NOT NULL DEFAULT '',             -- '' durable; else the session whose end removes the row
  session_id TEXT,                            -- provenance only; nothing is ever deleted by it
  client TEXT NOT NULL DEFAULT '', tool TEXT NOT NULL DEFAULT '',  -- who wrote it: a client's name, a tool or a command
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, deleted_at TEXT,
  UNIQUE (workspace_id, id));
CREATE UNIQUE INDEX records_name ON records (workspace_id, kind, scope, name)
  WHERE deleted_at IS NULL AND name IS NOT NULL AND kind IN ('memory', 'entity');
CREATE INDEX records_spelling  -- entities whose names differ only in case, blanks, - and _
  ON records (workspace_id, lower(replace(replace(replace(substr(name, 1, 200), ' ', ''), '-', ''), '_', '')))
  WHERE kind = 'entity' AND deleted_at IS NULL;
CREATE INDEX records_type ON records (workspace_id, kind, type, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX records_session ON records (workspace_id, session_id, created_at)
  WHERE session_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX records_recent ON records (workspace_id, kind, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX records_created ON records (workspace_id, created_at) WHERE deleted_at IS NULL;
CREATE INDEX records_volatile ON records (workspace_id, scope) WHERE scope <> '';
-- counts; with `scope` before `kind`, SQLite would take it for whatever is durable, and read all of a workspace
CREATE INDEX records_origin ON records (workspace_id, kind, client, tool, scope) WHERE deleted_at IS NULL;
CREATE INDEX records_purge ON records (workspace_id, deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE memory_details (
  workspace_id TEXT NOT NULL, id TEXT NOT NULL,
  fingerprint TEXT NOT NULL DEFAULT '',       -- of what it says; equal ones say the same
  gist TEXT NOT NULL DEFAULT '',              -- of what it says, whatever its form: consolidation finds others by it
  importance REAL NOT NULL DEFAULT .5, access_count INTEGER NOT NULL DEFAULT 0, accessed_at TEXT,
  -- 0 not looked at yet; 1 settled by its words alone, or has a key, or is a session's; 2 restored by somebody, and left
  -- alone for good; 3 judged by a language model
  consolidated INTEGER NOT NULL DEFAULT 0,
  superseded_by TEXT,                         -- the memory that took its place,
  ending TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '',  -- how (`merged`, `superseded`, `compacted`), why
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX memory_details_fingerprint ON memory_details (workspace_id, fingerprint);
CREATE INDEX memory_details_importance ON memory_details (workspace_id, importance);
CREATE INDEX memory_details_gist ON memory_details (workspace_id, gist) WHERE gist <> '';
CREATE INDEX memory_details_succession ON memory_details (workspace_id, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_details_fresh ON memory_details (workspace_id, id) WHERE consolidated = 0;
CREATE INDEX memory_details_unjudged ON memory_details (workspace_id, id) WHERE consolidated = 1;

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
CREATE INDEX relations_from ON relations (workspace_id, from_entity, created_at);
CREATE INDEX relations_to ON relations (workspace_id, to_entity, created_at);
CREATE INDEX relations_purge ON relations (workspace_id, deleted_at) WHERE deleted_at IS NOT NULL;


-- the past

CREATE TABLE versions (                       -- what a record said before, until when, and who wrote that
  workspace_id TEXT NOT NULL, id TEXT NOT NULL, until TEXT NOT NULL,
  name TEXT,                                  -- the name of a node before it got another one
  body TEXT NOT NULL, tags TEXT NOT NULL, importance REAL NOT NULL,
  client TEXT NOT NULL DEFAULT '', tool TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (workspace_id, id, until),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX versions_until ON versions (workspace_id, until);

CREATE TABLE events (                         -- no key to the record: they outlive it
  workspace_id TEXT NOT NULL, seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, operation TEXT NOT NULL,
  subject TEXT);
CREATE INDEX events_at ON events (workspace_id, at);

-- who did what to a record or a relation, or wants two nodes to stay as they are: no key to them, since it outlives them
CREATE TABLE acts (
  workspace_id TEXT NOT NULL, id TEXT NOT NULL, at TEXT NOT NULL,
  operation TEXT NOT NULL,                    -- as in events: `delete_memory`, `restore_relation`, `purge_entity`
  other TEXT NOT NULL,                        -- the node that one became one with, or stays apart from; or ''
  client TEXT NOT NULL, tool TEXT NOT NULL,
  PRIMARY KEY (workspace_id, id, at)) WITHOUT ROWID;
CREATE INDEX acts_operation ON acts (workspace_id, operation, at);

-- a workspace that was archived or deleted takes no more writes, whoever still has its file open
CREATE TABLE put_away (workspace_id TEXT PRIMARY KEY) WITHOUT ROWID;

-- with `memoryd sync`: the commit a workspace was last merged with, and its last event that is in there
CREATE TABLE synced (workspace_id TEXT PRIMARY KEY, base TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;


-- vectors: plain rows beside the texts; seq grows with each, so that an index in memory knows what is new

CREATE TABLE perspectives (
  workspace_id TEXT NOT NULL, name TEXT NOT NULL, template TEXT NOT NULL,
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
