-- The tables of both dialects; a line with the comment `sqlite` or `postgres` is for that one alone. The collation "C"
-- orders as SQLite does. The rest of this version is in each dialect's own script.

-- registry

CREATE TABLE projects (
  id TEXT COLLATE "C" PRIMARY KEY, name TEXT COLLATE "C" NOT NULL UNIQUE, description TEXT NOT NULL DEFAULT '',
  db_path TEXT NOT NULL,                       -- '' = this file or database
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived')),
  includes TEXT NOT NULL DEFAULT '[]',         -- the ids of workspaces that are read together with it
  created_at TEXT COLLATE "C" NOT NULL, updated_at TEXT COLLATE "C" NOT NULL);

CREATE TABLE workspace_keys (                  -- how a project of the user's finds its workspace again
  key TEXT COLLATE "C" PRIMARY KEY,
  project TEXT COLLATE "C" NOT NULL REFERENCES projects (id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX workspace_keys_project ON workspace_keys (project);

CREATE TABLE sessions (                        -- keyed by who, not by workspace: a session chooses one
  principal TEXT NOT NULL, id TEXT COLLATE "C" NOT NULL, active_project TEXT,
  PRIMARY KEY (principal, id)) WITHOUT ROWID;

CREATE TABLE session_holders (                 -- one row a process; a session's rows go with the last holder
  principal TEXT NOT NULL, id TEXT COLLATE "C" NOT NULL, holder TEXT NOT NULL, expires_at TEXT NOT NULL,
  PRIMARY KEY (principal, id, holder)) WITHOUT ROWID;

CREATE TABLE leases (                          -- what only one process should do at a time
  name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at TEXT COLLATE "C" NOT NULL) WITHOUT ROWID;


-- access: hashes in place of secrets; a `workspace` is an id, or '' for all

CREATE TABLE tokens (                          -- who may come in over HTTP; `level`, or the names in `tools`
  id TEXT COLLATE "C" PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash TEXT NOT NULL, level TEXT NOT NULL,
  tools TEXT NOT NULL, workspace TEXT COLLATE "C" NOT NULL, created_at TEXT COLLATE "C" NOT NULL,
  expires_at TEXT COLLATE "C" NOT NULL) WITHOUT ROWID;

CREATE TABLE accounts (                        -- people with a password; level and workspace bound what they may grant
  name TEXT COLLATE "C" PRIMARY KEY, hash TEXT NOT NULL, level TEXT NOT NULL, workspace TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL) WITHOUT ROWID;

CREATE TABLE oauth_clients (                   -- clients that registered themselves; `secret` is '' if one has none
  id TEXT COLLATE "C" PRIMARY KEY, name TEXT NOT NULL, secret TEXT NOT NULL, method TEXT NOT NULL,
  redirect_uris TEXT NOT NULL, created_at TEXT COLLATE "C" NOT NULL, used_at TEXT COLLATE "C" NOT NULL) WITHOUT ROWID;

-- requests of clients to log in, from the first redirect until their code has expired; `id`, `browser` and `code` are
-- hashes; `level` and `workspace` bound what the person may grant
CREATE TABLE authorizations (
  id TEXT COLLATE "C" PRIMARY KEY, client TEXT COLLATE "C" NOT NULL, client_name TEXT NOT NULL,
  redirect_uri TEXT NOT NULL, state TEXT NOT NULL, challenge TEXT NOT NULL, asked TEXT NOT NULL,
  browser TEXT NOT NULL, subject TEXT COLLATE "C" NOT NULL, person TEXT NOT NULL, level TEXT NOT NULL,
  workspace TEXT COLLATE "C" NOT NULL, until TEXT COLLATE "C" NOT NULL, code TEXT COLLATE "C" NOT NULL,
  login TEXT COLLATE "C" NOT NULL, used_at TEXT COLLATE "C" NOT NULL,
  expires_at TEXT COLLATE "C" NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX authorizations_code ON authorizations (code) WHERE code <> '';

CREATE TABLE logins (                          -- what people granted to clients; a token of one is in `login_tokens`
  id TEXT COLLATE "C" PRIMARY KEY, subject TEXT COLLATE "C" NOT NULL, person TEXT NOT NULL,
  client TEXT COLLATE "C" NOT NULL, client_name TEXT NOT NULL, level TEXT NOT NULL,
  workspace TEXT COLLATE "C" NOT NULL, created_at TEXT COLLATE "C" NOT NULL, used_at TEXT COLLATE "C" NOT NULL,
  expires_at TEXT COLLATE "C" NOT NULL) WITHOUT ROWID;

-- a refresh token that was used has `rotated_at`, and `salt`: from it and from itself its one successor is derived
CREATE TABLE login_tokens (
  hash TEXT COLLATE "C" PRIMARY KEY, login TEXT COLLATE "C" NOT NULL, kind TEXT NOT NULL,
  expires_at TEXT COLLATE "C" NOT NULL, rotated_at TEXT COLLATE "C" NOT NULL,
  salt TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE INDEX login_tokens_login ON login_tokens (login);

CREATE TABLE access_log (                      -- who was let in, and what was changed about that
  id TEXT COLLATE "C" PRIMARY KEY, at TEXT COLLATE "C" NOT NULL, act TEXT NOT NULL, subject TEXT COLLATE "C" NOT NULL,
  client TEXT COLLATE "C" NOT NULL, detail TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX access_log_at ON access_log (at);


-- records: anything with text in a workspace

CREATE TABLE records (
  rid INTEGER PRIMARY KEY AUTOINCREMENT,       -- sqlite: the key of words and vectors; a bare rowid moves at VACUUM
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('memory', 'entity', 'observation', 'interaction', 'summary')),
  name TEXT COLLATE "C",                       -- memory key, entity name, summary title
  type TEXT COLLATE "C" NOT NULL DEFAULT '',   -- entity_type, summary category, 'agent-interaction'
  body TEXT NOT NULL,                          -- content; entity summary; prompt + thought + response
  tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),  -- sqlite
  tags TEXT NOT NULL DEFAULT '[]',             -- postgres
  related TEXT NOT NULL DEFAULT '[]',          -- of an entity, kept by triggers: see entity_related, related_of
  scope TEXT COLLATE "C" NOT NULL DEFAULT '',  -- '' durable; else the session whose end removes the row
  session_id TEXT COLLATE "C",                 -- provenance only; nothing is ever deleted by it
  client TEXT NOT NULL DEFAULT '', tool TEXT NOT NULL DEFAULT '',  -- who wrote it: a client's name, a tool or a command
  created_at TEXT COLLATE "C" NOT NULL, updated_at TEXT COLLATE "C" NOT NULL, deleted_at TEXT COLLATE "C",
  UNIQUE (workspace_id, id));                  -- sqlite
  PRIMARY KEY (workspace_id, id));             -- postgres
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
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL,
  fingerprint TEXT COLLATE "C" NOT NULL DEFAULT '',  -- of what it says; equal ones say the same
  gist TEXT COLLATE "C" NOT NULL DEFAULT '',   -- of what it says, whatever its form: consolidation finds others by it
  importance DOUBLE PRECISION NOT NULL DEFAULT .5, access_count INTEGER NOT NULL DEFAULT 0, accessed_at TEXT,
  -- 0 not looked at yet; 1 settled by its words alone, or has a key, or is a session's; 2 restored by somebody, and
  -- left alone for good; 3 judged by a language model
  consolidated INTEGER NOT NULL DEFAULT 0,
  superseded_by TEXT,                          -- the memory that took its place,
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
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL,
  summary_updated_at TEXT, next_ordinal INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE observation_details (
  workspace_id TEXT COLLATE "C" NOT NULL, entity_id TEXT NOT NULL, ordinal INTEGER NOT NULL,
  id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, entity_id, ordinal), UNIQUE (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, entity_id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE interaction_details (             -- where the body is cut: its three texts are stored once
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL,
  thought_at INTEGER NOT NULL, response_at INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE summary_details (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL,
  memory_count INTEGER NOT NULL,
  quality INTEGER, productivity INTEGER, impact INTEGER, complexity INTEGER, technologies TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE relations (                       -- no text, so no record
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL,
  from_entity TEXT NOT NULL, to_entity TEXT NOT NULL,
  relation_type TEXT NOT NULL, created_at TEXT COLLATE "C" NOT NULL, deleted_at TEXT COLLATE "C",
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, from_entity) REFERENCES records (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, to_entity) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE UNIQUE INDEX relations_live ON relations (workspace_id, from_entity, to_entity, relation_type)
  WHERE deleted_at IS NULL;
-- the oldest are read in the order of an index, also if thousands have the same time; SQLite's ends with the id anyway
CREATE INDEX relations_from ON relations (workspace_id, from_entity, created_at, id);  -- postgres
CREATE INDEX relations_to ON relations (workspace_id, to_entity, created_at, id);  -- postgres
CREATE INDEX relations_from ON relations (workspace_id, from_entity, created_at);  -- sqlite
CREATE INDEX relations_to ON relations (workspace_id, to_entity, created_at);  -- sqlite
CREATE INDEX relations_purge ON relations (workspace_id, deleted_at) WHERE deleted_at IS NOT NULL;


-- the past

CREATE TABLE versions (                        -- what a record said before, until when, and who wrote that
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, until TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C",                       -- the name of a node before it got another one
  body TEXT NOT NULL, tags TEXT NOT NULL, importance DOUBLE PRECISION NOT NULL,
  client TEXT NOT NULL DEFAULT '', tool TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (workspace_id, id, until),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE) WITHOUT ROWID;
CREATE INDEX versions_until ON versions (workspace_id, until);

CREATE TABLE events (                          -- no key to the record: they outlive it
  workspace_id TEXT COLLATE "C" NOT NULL,
  seq INTEGER PRIMARY KEY AUTOINCREMENT,       -- sqlite
  seq BIGINT GENERATED BY DEFAULT AS IDENTITY,  -- postgres
  at TEXT COLLATE "C" NOT NULL, operation TEXT NOT NULL,
  subject TEXT);                               -- sqlite
  subject TEXT, PRIMARY KEY (workspace_id, seq));  -- postgres
CREATE INDEX events_at ON events (workspace_id, at);

-- who did what to a record or a relation, or wants two nodes to stay as they are; no key to them: it outlives them
CREATE TABLE acts (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, at TEXT COLLATE "C" NOT NULL,
  operation TEXT COLLATE "C" NOT NULL,         -- as in events: `delete_memory`, `restore_relation`, `purge_entity`
  other TEXT COLLATE "C" NOT NULL,             -- the node that one became one with, or stays apart from; or ''
  client TEXT NOT NULL, tool TEXT NOT NULL,
  PRIMARY KEY (workspace_id, id, at)) WITHOUT ROWID;
CREATE INDEX acts_operation ON acts (workspace_id, operation, at);

-- a workspace that was archived or deleted takes no more writes, whoever is still about to
CREATE TABLE put_away (workspace_id TEXT COLLATE "C" PRIMARY KEY) WITHOUT ROWID;

-- with `memoryd sync`: the commit a workspace was last merged with, and its last event that is in there
CREATE TABLE synced (
  workspace_id TEXT COLLATE "C" PRIMARY KEY, base TEXT NOT NULL, seq BIGINT NOT NULL) WITHOUT ROWID;


CREATE TABLE perspectives (                    -- templates by which observations are embedded
  workspace_id TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, template TEXT NOT NULL,
  PRIMARY KEY (workspace_id, name)) WITHOUT ROWID;


-- the specifications' own names, to read; `vault_memories` shows a vector, and so is each dialect's own

CREATE VIEW entities AS
  SELECT workspace_id, id, name, type AS entity_type, nullif(body, '') AS summary, tags, created_at, updated_at,
    deleted_at
  FROM records WHERE kind = 'entity';
CREATE VIEW observations AS
  SELECT r.workspace_id, r.id, o.entity_id, o.ordinal, r.body AS content, r.created_at, r.deleted_at
  FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id;
CREATE VIEW session_memories AS
  SELECT rid AS id,  -- sqlite
  SELECT id,  -- postgres
    workspace_id, scope AS session_id, name AS key, body AS content, tags, created_at
  FROM records WHERE kind = 'memory' AND scope <> '' AND deleted_at IS NULL;
