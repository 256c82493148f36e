-- the relations of an entity are part of its words: "who works at Acme" finds Ann. `related` lists them as JSON, each as
-- [source, type, target] with '' for the entity itself, the oldest 50, with names cut at 200 characters, so that neither
-- its text nor a write grows with the number of relations

ALTER TABLE records ADD COLUMN related TEXT NOT NULL DEFAULT '[]', DROP COLUMN words;
ALTER TABLE records ADD COLUMN words tsvector GENERATED ALWAYS AS (
  setweight(words_of(coalesce(name, '')), 'A') || words_of(type || ' ' || body || ' ' || tags || ' ' || related)) STORED;
CREATE INDEX records_words ON records USING gin (workspace_id, words) WITH (fastupdate = off)
  WHERE deleted_at IS NULL;

-- the oldest relations are read in the order of an index, also if thousands have the same time
DROP INDEX relations_from;
DROP INDEX relations_to;
CREATE INDEX relations_from ON relations (workspace_id, from_entity, created_at, id);
CREATE INDEX relations_to ON relations (workspace_id, to_entity, created_at, id);

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

CREATE FUNCTION relate(workspace text, entities text[]) RETURNS void LANGUAGE sql AS $$
  UPDATE records r SET related = e.related FROM (
    SELECT one AS id, related_of(workspace, one) AS related FROM unnest(entities) one) e
  WHERE r.workspace_id = workspace AND r.id = e.id AND r.kind = 'entity' AND r.deleted_at IS NULL
    AND r.related <> e.related;
$$;

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

DROP TRIGGER records_reworded ON records;
CREATE TRIGGER records_reworded AFTER INSERT OR UPDATE OF name, type, body, tags, related, deleted_at ON records
  FOR EACH ROW EXECUTE FUNCTION note_word_change();

DO $$ DECLARE ours RECORD; BEGIN
  FOR ours IN
    SELECT p.oid::regprocedure AS function, p.pronamespace::regnamespace AS place FROM pg_proc p
    WHERE p.oid IN ('related_of(text, text)'::regprocedure, 'relate(text, text[])'::regprocedure,
      'relate_ends()'::regprocedure, 'relate_neighbours()'::regprocedure)
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', ours.function, ours.place);
  END LOOP;
END $$;

-- of what was there, the entities with relations are indexed and embedded again
UPDATE records r SET related = related_of(r.workspace_id, r.id)
WHERE r.kind = 'entity' AND r.deleted_at IS NULL AND EXISTS (
  SELECT 1 FROM relations x WHERE x.workspace_id = r.workspace_id AND x.deleted_at IS NULL
    AND r.id IN (x.from_entity, x.to_entity));
DELETE FROM embeddings e USING records r
WHERE r.workspace_id = e.workspace_id AND r.id = e.id AND r.kind = 'entity' AND r.related <> '[]'
  AND e.perspective <> 'client';
