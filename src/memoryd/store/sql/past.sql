-- name: parts.kept
-- A part of statements: keep the text of a living record as a version, unless the record is volatile.
INSERT INTO versions (workspace_id, id, until, body, tags, importance, client, tool, name)
SELECT r.workspace_id, r.id, :now, r.body, r.tags, coalesce(d.importance, .5), r.client, r.tool, r.name
FROM records r LEFT JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.id = :id AND r.deleted_at IS NULL AND r.scope = ''

-- name: versions.keep
-- Keep the text of a record before it changes, unless the record is volatile.
{parts.kept}
  AND (r.body <> :body OR r.tags <> :tags)
ON CONFLICT (workspace_id, id, until) DO NOTHING

-- name: versions.keep_tags
-- Keep the text of a record before its tags change, or it becomes more important.
{parts.kept}
  AND (r.tags <> :tags OR d.importance < :importance)
ON CONFLICT (workspace_id, id, until) DO NOTHING

-- name: versions.keep_whole
-- Keep the text of a record before a correction, whatever it changes.
{parts.kept}
ON CONFLICT (workspace_id, id, until) DO NOTHING

-- name: versions.of_record
-- The earlier texts of a record and who wrote them, the newest first.
SELECT v.until, v.name, v.body, v.tags, v.importance, v.client, v.tool FROM versions v
WHERE v.workspace_id = :workspace AND v.id = :id ORDER BY v.until DESC LIMIT :limit

-- name: versions.mask
-- Replace an earlier text by the same without its secrets.
UPDATE versions SET body = :body, tags = :tags, name = :name
WHERE workspace_id = :workspace AND id = :id AND until = :until

-- name: versions.purgeable
-- Whether there are old versions.
SELECT 1 AS yes FROM versions WHERE workspace_id = :workspace AND until <= :before LIMIT 1

-- name: versions.purge
-- Permanently delete old versions.
DELETE FROM versions WHERE workspace_id = :workspace AND until <= :before

-- name: parts.then
-- A part of statements: the version of a record `r` that was in force at a time.
LEFT JOIN versions v ON v.workspace_id = r.workspace_id AND v.id = r.id AND v.until = (
  SELECT min(w.until) FROM versions w WHERE w.workspace_id = r.workspace_id AND w.id = r.id AND w.until > :at)

-- name: parts.entities_then
-- A part of statements: the entities at a time, as they were then.
SELECT r.id, coalesce(v.name, r.name) AS name, r.type, coalesce(v.body, r.body) AS body,
  coalesce(v.tags, r.tags) AS tags, r.created_at,
  CASE WHEN r.updated_at <= :at THEN r.updated_at ELSE :at END AS updated_at
FROM records r
{parts.then}
WHERE r.workspace_id = :workspace AND r.kind = 'entity' AND r.scope = '' AND r.created_at <= :at
  AND (r.deleted_at IS NULL OR r.deleted_at > :at)

-- name: past.unchanged
-- Records that existed at a time, still exist and have the same text. Earlier texts of volatile records are unknown.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.created_at <= :at
  AND (r.scope = '' OR (r.scope = :session AND r.updated_at <= :at))
  AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.workspace_id = r.workspace_id AND v.id = r.id AND v.until > :at)

-- name: past.others
-- Records that existed at a time, pass a filter, and were since deleted or changed: as they were, last changed first.
SELECT r.id, r.kind, coalesce(v.name, r.name) AS name, r.type, coalesce(v.body, r.body) AS body, coalesce(v.tags, r.tags) AS tags, r.scope,
  r.session_id, coalesce(v.client, r.client) AS client, coalesce(v.tool, r.tool) AS tool, r.created_at,
  CASE WHEN r.updated_at <= :at THEN r.updated_at ELSE :at END AS updated_at, coalesce(v.importance, d.importance, .5) AS importance,
  coalesce(d.access_count, 0) AS access_count, d.accessed_at
FROM records r
LEFT JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
{parts.then}
WHERE r.workspace_id = :workspace AND r.created_at <= :at AND r.scope = ''
  AND (r.deleted_at IS NULL OR r.deleted_at > :at)
  AND r.id IN (
    SELECT id FROM records WHERE workspace_id = :workspace AND deleted_at > :at
    UNION SELECT id FROM versions WHERE workspace_id = :workspace AND until > :at)
  AND (:kinds = '[]' OR r.kind IN (SELECT value FROM json_each(:kinds)))
  AND (:tag_count = 0 OR :tag_count = (
    SELECT count(*) FROM json_each(:tags) WHERE value IN (SELECT value FROM json_each(coalesce(v.tags, r.tags)))))
  AND (:after = '' OR r.created_at >= :after) AND (:before = '' OR r.created_at < :before)
ORDER BY coalesce(r.deleted_at, v.until) DESC, r.id LIMIT :limit

-- name: past.entities
-- The entities that had some names at a time, as they were then. If a name was given twice, the later one counts.
{parts.entities_then}
  AND r.id IN (
    SELECT id FROM records
    WHERE workspace_id = :workspace AND kind = 'entity' AND name IN (SELECT value FROM json_each(:names))
    UNION SELECT id FROM versions
    WHERE workspace_id = :workspace AND until > :at AND name IN (SELECT value FROM json_each(:names)))
  AND coalesce(v.name, r.name) IN (SELECT value FROM json_each(:names))
ORDER BY r.created_at

-- name: past.nodes
-- The entities at a time that contain some words, as they were then: a page, by name.
{parts.entities_then}
  AND coalesce(v.name, r.name) >= :start
  AND (:words = '' OR lower(
    coalesce(v.name, r.name) || ' ' || r.type || ' ' || coalesce(v.body, r.body)) LIKE lower(:words) ESCAPE '~')
ORDER BY coalesce(v.name, r.name), r.id LIMIT :limit

-- name: past.beginning
-- When the first entity was created.
SELECT min(created_at) AS at FROM records WHERE workspace_id = :workspace AND kind = 'entity' AND scope = ''

-- name: past.observations
-- The observations of some entities at a time.
SELECT o.entity_id, o.ordinal, r.id, coalesce(v.body, r.body) AS body, r.created_at,
  CASE WHEN r.updated_at <= :at THEN r.updated_at ELSE :at END AS updated_at
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
{parts.then}
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities)) AND r.created_at <= :at
  AND (r.deleted_at IS NULL OR r.deleted_at > :at)
ORDER BY o.entity_id, o.ordinal

-- name: past.relations
-- The relations from or to some entities at a time, with the names of that time, in the order of their creation.
SELECT x.id, coalesce(v.name, s.name) AS source, coalesce(w.name, t.name) AS target, x.relation_type, x.created_at
FROM relations x
JOIN records s ON s.workspace_id = x.workspace_id AND s.id = x.from_entity
JOIN records t ON t.workspace_id = x.workspace_id AND t.id = x.to_entity
LEFT JOIN versions v ON v.workspace_id = s.workspace_id AND v.id = s.id AND v.until = (
  SELECT min(n.until) FROM versions n WHERE n.workspace_id = s.workspace_id AND n.id = s.id AND n.until > :at)
LEFT JOIN versions w ON w.workspace_id = t.workspace_id AND w.id = t.id AND w.until = (
  SELECT min(n.until) FROM versions n WHERE n.workspace_id = t.workspace_id AND n.id = t.id AND n.until > :at)
WHERE x.workspace_id = :workspace AND x.created_at <= :at AND (x.deleted_at IS NULL OR x.deleted_at > :at)
  AND (x.from_entity IN (SELECT value FROM json_each(:entities)) OR x.to_entity IN (SELECT value FROM json_each(:entities)))
ORDER BY x.created_at, x.id

-- name: past.related
-- The relations of some entities at a time, each from the point of view of one of them, where '' is the entity itself.
SELECT entity, source, relation_type, target FROM (
  SELECT x.created_at, x.id, x.from_entity AS entity, '' AS source, x.relation_type, CASE
      WHEN x.to_entity = x.from_entity THEN ''
      ELSE coalesce((SELECT v.name FROM versions v WHERE v.workspace_id = t.workspace_id AND v.id = t.id AND v.until > :at
        ORDER BY v.until LIMIT 1), t.name) END AS target
  FROM relations x JOIN records t ON t.workspace_id = x.workspace_id AND t.id = x.to_entity
  WHERE x.workspace_id = :workspace AND x.from_entity IN (SELECT value FROM json_each(:entities))
    AND x.created_at <= :at AND (x.deleted_at IS NULL OR x.deleted_at > :at)
  UNION ALL
  SELECT x.created_at, x.id, x.to_entity, coalesce((
      SELECT v.name FROM versions v WHERE v.workspace_id = s.workspace_id AND v.id = s.id AND v.until > :at
      ORDER BY v.until LIMIT 1), s.name), x.relation_type, ''
  FROM relations x JOIN records s ON s.workspace_id = x.workspace_id AND s.id = x.from_entity
  WHERE x.workspace_id = :workspace AND x.to_entity IN (SELECT value FROM json_each(:entities))
    AND x.from_entity <> x.to_entity AND x.created_at <= :at AND (x.deleted_at IS NULL OR x.deleted_at > :at)) then_related
ORDER BY created_at, id LIMIT :limit
