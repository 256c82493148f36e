-- what this schema needs of the server; btree_gin lets one index hold the workspace and the words

CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS unaccent;

-- words as SQLite's index has them: English stems, no accents, stop words too, and no marks inside of them
CREATE TEXT SEARCH DICTIONARY memoryd_stem (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION memoryd (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION memoryd ALTER MAPPING FOR asciiword, word, numword WITH unaccent, memoryd_stem;
CREATE FUNCTION words_of(said text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
  RETURN to_tsvector('memoryd', translate(said, '_-./\:@#%&+=~^`|<>"''()[]{}*!?,;$', repeat(' ', 40)));
EXCEPTION WHEN program_limit_exceeded THEN  -- a tsvector holds a megabyte: of a longer text its beginning is found
  RETURN words_of(left(said, length(said) / 2));
END $$;

-- the shared statements take lists as JSON text; the condition, always true, makes the planner expect one row of a
-- list in place of 100, and so look up its ids instead of reading a workspace for them
CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT v FROM jsonb_array_elements_text(list::jsonb) v WHERE v || '' = v $$;



-- registry

CREATE TABLE projects (
  id TEXT COLLATE "C" PRIMARY KEY, name TEXT COLLATE "C" NOT NULL UNIQUE, description TEXT NOT NULL DEFAULT '',
  db_path TEXT NOT NULL,                      -- '' = this database
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived')),
  created_at TEXT COLLATE "C" NOT NULL, updated_at TEXT COLLATE "C" NOT NULL);

CREATE TABLE sessions (
  principal TEXT NOT NULL, id TEXT COLLATE "C" NOT NULL, active_project TEXT, PRIMARY KEY (principal, id));

CREATE TABLE session_holders (
  principal TEXT NOT NULL, id TEXT COLLATE "C" NOT NULL, holder TEXT NOT NULL, expires_at TEXT NOT NULL,
  PRIMARY KEY (principal, id, holder));

CREATE TABLE leases (                          -- what only one process should do at a time
  name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at TEXT COLLATE "C" NOT NULL);


-- records

CREATE TABLE records (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('memory', 'entity', 'observation', 'interaction', 'summary')),
  name TEXT COLLATE "C", type TEXT COLLATE "C" NOT NULL DEFAULT '', body TEXT NOT NULL, tags TEXT NOT NULL DEFAULT '[]',
  scope TEXT COLLATE "C" NOT NULL DEFAULT '', session_id TEXT COLLATE "C",
  created_at TEXT COLLATE "C" NOT NULL, updated_at TEXT COLLATE "C" NOT NULL, deleted_at TEXT COLLATE "C",
  words tsvector GENERATED ALWAYS AS (
    setweight(words_of(coalesce(name, '')), 'A') || words_of(type || ' ' || body || ' ' || tags)) STORED,
  PRIMARY KEY (workspace_id, id));
CREATE UNIQUE INDEX records_name ON records (workspace_id, kind, scope, name)
  WHERE deleted_at IS NULL AND name IS NOT NULL AND kind IN ('memory', 'entity');
CREATE INDEX records_type ON records (workspace_id, kind, type, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX records_session ON records (workspace_id, session_id, created_at)
  WHERE session_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX records_recent ON records (workspace_id, kind, updated_at) WHERE deleted_at IS NULL;
CREATE INDEX records_volatile ON records (workspace_id, scope) WHERE scope <> '';
CREATE INDEX records_purge ON records (workspace_id, deleted_at) WHERE deleted_at IS NOT NULL;
-- new rows go into these two at once: a list of those that wait takes .08 ms less of a write and 4 ms of each search
CREATE INDEX records_words ON records USING gin (workspace_id, words) WITH (fastupdate = off)
  WHERE deleted_at IS NULL;
CREATE INDEX records_tags ON records USING gin (workspace_id, (tags::jsonb)) WITH (fastupdate = off)
  WHERE deleted_at IS NULL;

CREATE TABLE memory_details (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, fingerprint TEXT COLLATE "C" NOT NULL DEFAULT '',
  importance DOUBLE PRECISION NOT NULL DEFAULT .5, access_count INTEGER NOT NULL DEFAULT 0, accessed_at TEXT,
  consolidated INTEGER NOT NULL DEFAULT 0, superseded_by TEXT,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE);
CREATE INDEX memory_details_fingerprint ON memory_details (workspace_id, fingerprint);
CREATE INDEX memory_details_importance ON memory_details (workspace_id, importance);

CREATE TABLE entity_details (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, summary_updated_at TEXT, next_ordinal INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE);

CREATE TABLE observation_details (
  workspace_id TEXT COLLATE "C" NOT NULL, entity_id TEXT NOT NULL, ordinal INTEGER NOT NULL, id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, entity_id, ordinal), UNIQUE (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, entity_id) REFERENCES records (workspace_id, id) ON DELETE CASCADE);

CREATE TABLE interaction_details (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, thought_at INTEGER NOT NULL, response_at INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE);

CREATE TABLE summary_details (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, memory_count INTEGER NOT NULL,
  quality INTEGER, productivity INTEGER, impact INTEGER, complexity INTEGER, technologies TEXT NOT NULL DEFAULT '[]',
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE);

CREATE TABLE relations (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, from_entity TEXT NOT NULL, to_entity TEXT NOT NULL,
  relation_type TEXT NOT NULL, created_at TEXT COLLATE "C" NOT NULL, deleted_at TEXT COLLATE "C",
  PRIMARY KEY (workspace_id, id),
  FOREIGN KEY (workspace_id, from_entity) REFERENCES records (workspace_id, id) ON DELETE CASCADE,
  FOREIGN KEY (workspace_id, to_entity) REFERENCES records (workspace_id, id) ON DELETE CASCADE);
CREATE UNIQUE INDEX relations_live ON relations (workspace_id, from_entity, to_entity, relation_type)
  WHERE deleted_at IS NULL;
CREATE INDEX relations_from ON relations (workspace_id, from_entity, created_at);
CREATE INDEX relations_to ON relations (workspace_id, to_entity, created_at);
CREATE INDEX relations_purge ON relations (workspace_id, deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE events (
  workspace_id TEXT COLLATE "C" NOT NULL, seq BIGINT GENERATED BY DEFAULT AS IDENTITY, at TEXT COLLATE "C" NOT NULL, operation TEXT NOT NULL,
  subject TEXT, PRIMARY KEY (workspace_id, seq));
CREATE INDEX events_at ON events (workspace_id, at);


-- vectors: partitions keep a search in one workspace from wading through all others' (recall .04 without, .97 with)

CREATE TABLE perspectives (
  workspace_id TEXT COLLATE "C" NOT NULL, name TEXT COLLATE "C" NOT NULL, template TEXT NOT NULL, PRIMARY KEY (workspace_id, name));

CREATE TABLE embeddings (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, chunk INTEGER NOT NULL, perspective TEXT COLLATE "C" NOT NULL, model TEXT COLLATE "C" NOT NULL,
  dim INTEGER NOT NULL, vector halfvec NOT NULL,
  PRIMARY KEY (workspace_id, id, perspective, model, chunk),
  FOREIGN KEY (workspace_id, id) REFERENCES records (workspace_id, id) ON DELETE CASCADE
) PARTITION BY HASH (workspace_id);
DO $$ BEGIN
  FOR place IN 0..15 LOOP
    EXECUTE format('CREATE TABLE embeddings_%s PARTITION OF embeddings FOR VALUES WITH (MODULUS 16, REMAINDER %s)',
      place, place);
  END LOOP;
END $$;
CREATE INDEX embeddings_model ON embeddings (workspace_id, perspective, model, dim);

-- a restored record is embedded anew; a caller's own vectors cannot be
CREATE FUNCTION forget_vectors() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM embeddings WHERE workspace_id = new.workspace_id AND id = new.id AND perspective <> 'client';
  RETURN NULL; END $$;
CREATE TRIGGER records_gone AFTER UPDATE OF deleted_at ON records FOR EACH ROW
  WHEN (new.deleted_at IS NOT NULL AND old.deleted_at IS NULL) EXECUTE FUNCTION forget_vectors();


-- a workspace that was archived or deleted takes no more writes, whoever is still about to

CREATE TABLE put_away (workspace_id TEXT COLLATE "C" PRIMARY KEY);


-- what the planner does not know of a workspace it takes for empty, and then reads all of it for one row: so it shall
-- know none, and take each for a two-hundredth of all rows

DO $$ DECLARE place regclass; BEGIN
  FOR place IN
    SELECT c.oid::regclass FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'workspace_id'
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER workspace_id SET STATISTICS 0', place);
  END LOOP;
END $$;


-- the specifications' own names, to read

CREATE VIEW entities AS
  SELECT workspace_id, id, name, type AS entity_type, nullif(body, '') AS summary, tags, created_at, updated_at,
    deleted_at
  FROM records WHERE kind = 'entity';
CREATE VIEW observations AS
  SELECT r.workspace_id, r.id, o.entity_id, o.ordinal, r.body AS content, r.created_at, r.deleted_at
  FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id;
CREATE VIEW session_memories AS
  SELECT id, workspace_id, scope AS session_id, name AS key, body AS content, tags, created_at
  FROM records WHERE kind = 'memory' AND scope <> '' AND deleted_at IS NULL;
CREATE VIEW vault_memories AS
  SELECT r.id, r.workspace_id, r.name AS key, r.body AS content, r.tags, e.vector AS embedding, r.created_at,
    r.updated_at
  FROM records r LEFT JOIN embeddings e ON e.workspace_id = r.workspace_id AND e.id = r.id AND e.perspective = 'client'
  WHERE r.kind = 'memory' AND r.scope = '' AND r.name IS NOT NULL AND r.deleted_at IS NULL;
