-- the relations of an entity are part of its words: "who works at Acme" finds Ann. `related` lists them as JSON, each as
-- [source, type, target] with '' for the entity itself, the oldest 50, with names cut at 200 characters, so that neither
-- its text nor a write grows with the number of relations

ALTER TABLE records ADD COLUMN related TEXT NOT NULL DEFAULT '[]';

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

DROP VIEW live_text;
CREATE VIEW live_text AS
  SELECT rid, 'w' || replace(workspace_id, '-', '') || ' k' || kind AS scope_tokens,
    segmented(coalesce(name, '')) AS title, segmented(type) AS type, segmented(body || ' ' || related) AS body,
    segmented(tags) AS tags
  FROM records WHERE deleted_at IS NULL;

DROP TRIGGER records_bu;
CREATE TRIGGER records_bu BEFORE UPDATE OF name, type, body, tags, related, deleted_at ON records
WHEN old.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(records_fts, rowid, scope_tokens, title, type, body, tags)
    SELECT 'delete', * FROM live_text WHERE rid = old.rid;
  DELETE FROM record_tags WHERE rid = old.rid; END;
DROP TRIGGER records_au;
CREATE TRIGGER records_au AFTER UPDATE OF name, type, body, tags, related, deleted_at ON records
WHEN new.deleted_at IS NULL BEGIN
  INSERT INTO records_fts(rowid, scope_tokens, title, type, body, tags) SELECT * FROM live_text WHERE rid = new.rid;
  INSERT INTO record_tags SELECT DISTINCT new.workspace_id, value, new.rid FROM json_each(new.tags); END;
DROP TRIGGER records_reworded;
CREATE TRIGGER records_reworded AFTER UPDATE OF name, type, body, tags, related, deleted_at ON records BEGIN
  INSERT INTO word_changes (rid) VALUES (old.rid); END;

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

-- of what was there, the entities with relations are indexed and embedded again
UPDATE records SET related = e.related FROM entity_related e WHERE records.rid = e.rid AND records.related <> e.related;
DELETE FROM embeddings WHERE perspective <> 'client' AND (workspace_id, id) IN (
  SELECT workspace_id, id FROM records WHERE kind = 'entity' AND related <> '[]');
