-- what this schema needs of the server; btree_gin lets one index hold the workspace and the words

CREATE EXTENSION IF NOT EXISTS vector;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE EXTENSION IF NOT EXISTS unaccent;

-- the shared statements take lists as JSON text; the condition, always true, makes the planner expect one row of a
-- list in place of 100, and so look up its ids instead of reading a workspace for them
CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE sql IMMUTABLE PARALLEL SAFE
  AS $$ SELECT v FROM jsonb_array_elements_text(list::jsonb) v WHERE v || '' = v $$;


-- words as SQLite's index has them: English stems, no accents, stop words too, and no marks inside of them

CREATE TEXT SEARCH DICTIONARY memoryd_stem (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION memoryd (COPY = simple);
ALTER TEXT SEARCH CONFIGURATION memoryd ALTER MAPPING FOR asciiword, word, numword WITH unaccent, memoryd_stem;

-- scripts without blanks are cut into overlapping pairs of letters, as `segmented` of memoryd/text.py does
CREATE FUNCTION segmented(said text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  letters CONSTANT text := '\u1100-\u115e\u1161-\u11ff\u3131-\u3163\u3165-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb\u3041-\u3096'
    || '\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d\u3005-\u3007\u3105-\u312f\u31a0-\u31bf'
    || '\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46'
    || '\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061'
    || '\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e\u1780-\u17b3\u17d7\u17dc';
  marks CONSTANT text := '\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060'
    || '\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\u200b-\u200d'
    || '\u2060\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\uff9e\uff9f\U000e0100-\U000e01ef';
BEGIN
  IF said !~ format('[%s]', letters) THEN RETURN said; END IF;
  RETURN (
    SELECT string_agg(CASE WHEN part[1] IS NULL THEN part[2] ELSE ' ' || (
        SELECT coalesce(string_agg(letter || following, ' ' ORDER BY place), '') FROM (
          SELECT letter, coalesce(lead(letter) OVER (ORDER BY place), '') AS following, place
          FROM unnest(string_to_array(regexp_replace(normalize(part[1], NFKC), format('[%s]', marks), '', 'g'), NULL))
            WITH ORDINALITY AS run (letter, place)) pairs) || ' ' END, '' ORDER BY number)
    FROM regexp_matches(said, format('([%1$s][%1$s%2$s]*)|([^%1$s]+)', letters, marks), 'g')
      WITH ORDINALITY AS parts (part, number));
END $$;

-- the words that are also spelt in another way, in that way, each after a blank, as `respelled` of memoryd/text.py returns
CREATE FUNCTION respelled(said text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ DECLARE
  one CONSTANT text := 'øłđёØŁĐЁأإآٱىةάέήίόύώς';
  two CONSTANT text[] := ARRAY['ä', 'ö', 'ü', 'ß', 'æ', 'œ', 'Ä', 'Ö', 'Ü', 'Æ', 'Œ'];
  as_two CONSTANT text[] := ARRAY['ae', 'oe', 'ue', 'ss', 'ae', 'oe', 'ae', 'oe', 'ue', 'ae', 'oe'];
  signs CONSTANT text := '\u0640\u064b-\u0652\u0670\u093c';
  also CONSTANT text := format('[%s%s%s\u0308\u0958-\u095f\uff10-\uff5a\ufb00-\ufb06]', one, array_to_string(two, ''), signs);
  found text;
BEGIN
  IF said !~ also THEN RETURN ''; END IF;
  SELECT string_agg(' ' || normalize(word[1], NFKC), '' ORDER BY number) INTO found FROM regexp_matches(said,
    '[0-9A-Za-z\u00c0-\u024f\u0300-\u052f\u0620-\u06d3\u0900-\u097f\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\ufb00-\ufb06]+',
    'g') WITH ORDINALITY AS words (word, number) WHERE word[1] ~ also;
  FOR place IN 1..array_length(two, 1) LOOP found := replace(found, two[place], as_two[place]); END LOOP;
  RETURN coalesce(regexp_replace(translate(found, one, 'oldеoldеاااايهαεηιουωσ'), format('[%s]', signs), '', 'g'), '');
END $$;

-- these are added, and the words within an identifier ("user profile" finds getUserProfile), as `indexed` there does
CREATE FUNCTION indexed(said text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
  IF said !~ '[a-z][A-Z]|[A-Za-z0-9][A-Z][a-z][a-z]' THEN RETURN segmented(said) || respelled(said); END IF;
  RETURN segmented(said) || coalesce((
    SELECT string_agg(' ' || parts, '' ORDER BY number) FROM (
      SELECT name[1] AS name, number, regexp_replace(regexp_replace(
        name[1], '([a-z])([A-Z])', '\1 \2', 'g'), '([A-Za-z0-9])([A-Z][a-z][a-z])', '\1 \2', 'g') AS parts
      FROM regexp_matches(said, '(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9]{2,63})(?![A-Za-z0-9])', 'g')
        WITH ORDINALITY AS names (name, number)) named
    WHERE parts <> name), '') || respelled(said);
END $$;

CREATE FUNCTION words_of(said text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$ BEGIN
  RETURN to_tsvector('memoryd', translate(indexed(said), '_-./\:@#%&+=~^`|<>"''()[]{}*!?,;$', repeat(' ', 40)));
EXCEPTION WHEN program_limit_exceeded THEN  -- a tsvector holds a megabyte: of a longer text its beginning is found
  RETURN words_of(left(said, length(said) / 2));
END $$;


ALTER TABLE records ADD COLUMN words tsvector GENERATED ALWAYS AS (
  setweight(words_of(coalesce(name, '')), 'A') || words_of(type || ' ' || body || ' ' || tags || ' ' || related)) STORED;
CREATE INDEX records_hash ON records (workspace_id, hashtextextended(id, 0));  -- from what is in memory to the records
-- new rows go into these two at once: a list of those that wait takes .08 ms less of a write and 4 ms of each search
CREATE INDEX records_words ON records USING gin (workspace_id, words) WITH (fastupdate = off)
  WHERE deleted_at IS NULL;
CREATE INDEX records_tags ON records USING gin (workspace_id, (tags::jsonb)) WITH (fastupdate = off)
  WHERE deleted_at IS NULL;


-- vectors: partitions keep a search in one workspace from wading through all others' (recall .04 without, .97 with)

CREATE TABLE embeddings (
  workspace_id TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, chunk INTEGER NOT NULL,
  perspective TEXT COLLATE "C" NOT NULL, model TEXT COLLATE "C" NOT NULL, dim INTEGER NOT NULL, vector halfvec NOT NULL,
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


-- which records got other words or lost them: what a process has in memory of the index is read again for these. `seq` is
-- the time in microseconds, or one more than the last: a server that takes over without the last changes uses none again

CREATE TABLE word_changes (
  workspace_id TEXT COLLATE "C" NOT NULL, seq BIGINT NOT NULL, id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (workspace_id, seq));

CREATE FUNCTION note_word_change() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE
  changed records := CASE WHEN TG_OP = 'DELETE' THEN old ELSE new END;
  now_us bigint := (extract(epoch FROM clock_timestamp()) * 1e6)::bigint;
BEGIN
  IF now_us % 64 = 0 THEN  -- at times; who is further behind than an hour reads all again
    DELETE FROM word_changes WHERE workspace_id = changed.workspace_id AND seq < now_us - 3600000000;
  END IF;
  INSERT INTO word_changes (workspace_id, seq, id)
  SELECT changed.workspace_id, greatest(now_us, coalesce(max(seq), 0) + 1), changed.id
  FROM word_changes WHERE workspace_id = changed.workspace_id;
  RETURN NULL; END $$;

CREATE TRIGGER records_reworded AFTER INSERT OR UPDATE OF name, type, body, tags, related, deleted_at ON records
  FOR EACH ROW EXECUTE FUNCTION note_word_change();
CREATE TRIGGER records_erased AFTER DELETE ON records
  FOR EACH ROW WHEN (old.deleted_at IS NULL) EXECUTE FUNCTION note_word_change();


-- the relations of an entity are part of its words: "who works at Acme" finds Ann. `related` lists them as JSON, each as
-- [source, type, target] with '' for the entity itself, the oldest 50, with names cut at 200 characters, so that neither
-- its text nor a write grows with the number of relations

CREATE FUNCTION related_of(workspace text, entity text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT coalesce(jsonb_agg(jsonb_build_array(source, type, target) ORDER BY created_at, id), '[]')::text FROM (
    SELECT * FROM (
      SELECT x.created_at, x.id, '' AS source, x.relation_type AS type,
        CASE WHEN x.to_entity = x.from_entity THEN '' ELSE left(n.name, 200) END AS target
      FROM relations x JOIN records n ON n.workspace_id = x.workspace_id AND n.id = x.to_entity
      WHERE x.workspace_id = workspace AND x.from_entity = entity AND x.deleted_at IS NULL
      ORDER BY x.created_at, x.id LIMIT 50) outgoing
    UNION ALL
    SELECT * FROM (
      SELECT x.created_at, x.id, left(n.name, 200) AS source, x.relation_type AS type, '' AS target
      FROM relations x JOIN records n ON n.workspace_id = x.workspace_id AND n.id = x.from_entity
      WHERE x.workspace_id = workspace AND x.to_entity = entity AND x.from_entity <> entity AND x.deleted_at IS NULL
      ORDER BY x.created_at, x.id LIMIT 50) incoming
    ORDER BY created_at, id LIMIT 50) oldest;
$$;

-- a statement an entity: Citus takes no function of a row in an UPDATE
CREATE FUNCTION relate(workspace text, entities text[]) RETURNS void LANGUAGE plpgsql AS $$ DECLARE
  one text;
  found text;
BEGIN
  FOREACH one IN ARRAY entities LOOP
    found := related_of(workspace, one);
    UPDATE records SET related = found
    WHERE workspace_id = workspace AND id = one AND kind = 'entity' AND deleted_at IS NULL AND related <> found;
  END LOOP; END $$;

-- whatever changes a relation or the name of an end: a tool, an import, a restore, a copy
CREATE FUNCTION relate_ends() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE
  changed relations := CASE WHEN TG_OP = 'DELETE' THEN old ELSE new END;
BEGIN
  PERFORM relate(changed.workspace_id, ARRAY[changed.from_entity, changed.to_entity]);
  RETURN NULL; END $$;
CREATE TRIGGER relations_added AFTER INSERT ON relations
  FOR EACH ROW WHEN (new.deleted_at IS NULL) EXECUTE FUNCTION relate_ends();
CREATE TRIGGER relations_changed AFTER UPDATE OF deleted_at ON relations FOR EACH ROW EXECUTE FUNCTION relate_ends();
CREATE TRIGGER relations_erased AFTER DELETE ON relations
  FOR EACH ROW WHEN (old.deleted_at IS NULL) EXECUTE FUNCTION relate_ends();

CREATE FUNCTION relate_neighbours() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM relate(new.workspace_id, ARRAY(
    SELECT to_entity FROM relations WHERE workspace_id = new.workspace_id AND from_entity = new.id AND deleted_at IS NULL
    UNION SELECT from_entity FROM relations
    WHERE workspace_id = new.workspace_id AND to_entity = new.id AND deleted_at IS NULL));
  RETURN NULL; END $$;
CREATE TRIGGER records_renamed AFTER UPDATE OF name ON records
  FOR EACH ROW WHEN (new.kind = 'entity' AND new.name <> old.name) EXECUTE FUNCTION relate_neighbours();


CREATE VIEW vault_memories AS
  SELECT r.id, r.workspace_id, r.name AS key, r.body AS content, r.tags, e.vector AS embedding, r.created_at,
    r.updated_at
  FROM records r LEFT JOIN embeddings e ON e.workspace_id = r.workspace_id AND e.id = r.id AND e.perspective = 'client'
  WHERE r.kind = 'memory' AND r.scope = '' AND r.name IS NOT NULL AND r.deleted_at IS NULL;


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

-- what the functions name lies in their own schema, whoever calls them: pg_restore does with an empty search_path, and so
-- lost every record. Not so json_each and segmented: they name nothing of ours, and json_each is inlined only so
DO $$ DECLARE ours RECORD; BEGIN
  FOR ours IN
    SELECT p.oid::regprocedure AS function, p.pronamespace::regnamespace AS place FROM pg_proc p
    WHERE p.oid IN ('indexed(text)'::regprocedure, 'words_of(text)'::regprocedure, 'forget_vectors()'::regprocedure,
      'note_word_change()'::regprocedure, 'related_of(text, text)'::regprocedure, 'relate(text, text[])'::regprocedure,
      'relate_ends()'::regprocedure, 'relate_neighbours()'::regprocedure)
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', ours.function, ours.place);
  END LOOP;
END $$;
