-- name: entities.named
-- Living entities by name. The repeated condition on kind lets SQLite use the partial index of names.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND kind IN ('memory', 'entity') AND scope = ''
  AND deleted_at IS NULL AND name IN (SELECT value FROM json_each(:names))

-- name: entities.spelled
-- Living entities by the spelling of their names, as the index `records_spelling` has it.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND deleted_at IS NULL
  AND lower(replace(replace(replace(substr(name, 1, 200), ' ', ''), '-', ''), '_', ''))
    IN (SELECT value FROM json_each(:keys))

-- name: entities.add
-- Add the details of an entity.
INSERT INTO entity_details (workspace_id, id, summary_updated_at) VALUES (:workspace, :id, :summary_updated_at)

-- name: entities.touch
-- Record that something of some entities has changed. Another machine's clock may be ahead: the time never goes back.
UPDATE records SET updated_at = :now
WHERE workspace_id = :workspace AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))
  AND updated_at < :now

-- name: entities.summarized
-- Set when the summary was last written.
UPDATE entity_details SET summary_updated_at = :now WHERE workspace_id = :workspace AND id = :id

-- name: entities.by_type
-- The entities of a type, by name.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND type = :type AND deleted_at IS NULL ORDER BY name

-- name: entities.recent
-- The entities that changed since a time, the last changed first.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND deleted_at IS NULL AND updated_at >= :since
ORDER BY updated_at DESC, id LIMIT :limit

-- name: entities.page
-- A page of entities, ordered by name.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND kind IN ('memory', 'entity') AND scope = ''
  AND deleted_at IS NULL AND name >= :start
ORDER BY name LIMIT :limit

-- name: observations.number
-- Take the next ordinals of an entity; returns the first of them. Those that a sync has moved are above all others.
UPDATE entity_details SET next_ordinal = :count + (
  SELECT CASE WHEN max(o.ordinal) >= entity_details.next_ordinal THEN max(o.ordinal) + 1
    ELSE entity_details.next_ordinal END
  FROM observation_details o WHERE o.workspace_id = :workspace AND o.entity_id = :entity)
WHERE workspace_id = :workspace AND id = :entity
RETURNING next_ordinal - :count AS number

-- name: observations.same
-- Which of some texts are already observations of some entities.
SELECT o.entity_id, r.body FROM observation_details o
JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id AND r.deleted_at IS NULL
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities))
  AND r.body IN (SELECT value FROM json_each(:contents))

-- name: observations.add
-- Add the entity of an observation, and its ordinal there.
INSERT INTO observation_details (workspace_id, entity_id, ordinal, id) VALUES (:workspace, :entity, :ordinal, :id)

-- name: observations.of
-- The living observations of some entities, ordered by ordinal.
SELECT o.entity_id, o.ordinal, r.id, r.body, r.created_at, r.updated_at
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities)) AND r.deleted_at IS NULL
ORDER BY o.entity_id, o.ordinal

-- name: observations.onward
-- The living observations of an entity from an ordinal on.
SELECT o.ordinal, r.id, r.body, r.created_at, r.updated_at
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id = :entity AND o.ordinal >= :ordinal AND r.deleted_at IS NULL
ORDER BY o.ordinal LIMIT :limit

-- name: observations.first
-- The first living observations of some entities, at most :limit of each.
SELECT entity_id, ordinal, id, body, created_at, updated_at FROM (
  SELECT o.entity_id, o.ordinal, r.id, r.body, r.created_at, r.updated_at,
    row_number() OVER (PARTITION BY o.entity_id ORDER BY o.ordinal) AS number
  FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
  WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities))
    AND r.deleted_at IS NULL) numbered
WHERE number <= :limit ORDER BY entity_id, ordinal

-- name: observations.latest
-- The last living observations of an entity, in descending order.
SELECT o.ordinal, r.id, r.body, r.created_at, r.updated_at
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id = :entity AND r.deleted_at IS NULL
ORDER BY o.ordinal DESC LIMIT :limit

-- name: observations.count
-- How many living observations some entities have; no row for none.
SELECT o.entity_id, count(*) AS number
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities)) AND r.deleted_at IS NULL
GROUP BY o.entity_id

-- name: observations.by_id
-- Some living observations with their ordinals.
SELECT r.id, o.ordinal, r.body FROM observation_details o
JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.id IN (SELECT value FROM json_each(:ids)) AND r.deleted_at IS NULL

-- name: parts.relations
-- A part of statements: relations with their ends, the entities `s` and `t`.
FROM relations x
JOIN records s ON s.workspace_id = x.workspace_id AND s.id = x.from_entity
JOIN records t ON t.workspace_id = x.workspace_id AND t.id = x.to_entity

-- name: relations.of
-- The relations from or to some entities, in the order of their creation.
SELECT x.id, x.from_entity, x.to_entity, s.name AS source, t.name AS target, x.relation_type, x.created_at
FROM (
  SELECT created_at, id, from_entity, to_entity, relation_type FROM relations
  WHERE workspace_id = :workspace AND deleted_at IS NULL AND from_entity IN (SELECT value FROM json_each(:ids))
  UNION
  SELECT created_at, id, from_entity, to_entity, relation_type FROM relations
  WHERE workspace_id = :workspace AND deleted_at IS NULL AND to_entity IN (SELECT value FROM json_each(:ids))
  ORDER BY created_at, id LIMIT :limit) x
JOIN records s ON s.workspace_id = :workspace AND s.id = x.from_entity
JOIN records t ON t.workspace_id = :workspace AND t.id = x.to_entity
ORDER BY x.created_at, x.id

-- name: relations.number
-- The number of relations from or to some entities.
SELECT count(*) AS number FROM (
  SELECT id FROM relations
  WHERE workspace_id = :workspace AND deleted_at IS NULL AND from_entity IN (SELECT value FROM json_each(:ids))
  UNION
  SELECT id FROM relations
  WHERE workspace_id = :workspace AND deleted_at IS NULL AND to_entity IN (SELECT value FROM json_each(:ids))) x

-- name: relations.onward
-- A page of the relations from an entity, in the order of their creation.
SELECT x.id, s.name AS source, t.name AS target, x.relation_type, x.created_at
{parts.relations}
WHERE x.workspace_id = :workspace AND x.from_entity = :entity AND x.deleted_at IS NULL
  AND (x.created_at, x.id) >= (:made, :relation)
ORDER BY x.created_at, x.id LIMIT :limit

-- name: relations.first
-- The first relations from some entities, at most :limit of each, in the order of their creation.
SELECT x.id, x.from_entity, s.name AS source, t.name AS target, x.relation_type, x.created_at FROM (
  SELECT id, from_entity, to_entity, relation_type, created_at,
    row_number() OVER (PARTITION BY from_entity ORDER BY created_at, id) AS number
  FROM relations WHERE workspace_id = :workspace AND deleted_at IS NULL
    AND from_entity IN (SELECT value FROM json_each(:entities))) x
JOIN records s ON s.workspace_id = :workspace AND s.id = x.from_entity
JOIN records t ON t.workspace_id = :workspace AND t.id = x.to_entity
WHERE x.number <= :limit ORDER BY x.from_entity, x.created_at, x.id

-- name: relations.starting
-- The relations from some entities.
SELECT x.id, x.from_entity, s.name AS source, t.name AS target, x.relation_type, x.created_at
{parts.relations}
WHERE x.workspace_id = :workspace AND x.deleted_at IS NULL AND x.from_entity IN (SELECT value FROM json_each(:ids))
ORDER BY x.created_at, s.name, t.name, x.relation_type

-- name: relations.between
-- The relations between two entities, in either direction.
SELECT x.id, s.name AS source, t.name AS target, x.relation_type, x.created_at
{parts.relations}
WHERE x.workspace_id = :workspace AND x.deleted_at IS NULL
  AND x.from_entity IN (:one, :other) AND x.to_entity IN (:one, :other)
  AND (x.from_entity <> x.to_entity OR :one = :other)
ORDER BY x.created_at, s.name, t.name, x.relation_type

-- name: relations.one
-- A living relation by its id.
SELECT from_entity, to_entity, relation_type FROM relations
WHERE workspace_id = :workspace AND id = :id AND deleted_at IS NULL

-- name: relations.find
-- The living relations from some entities to some others.
SELECT id, from_entity, to_entity, relation_type, created_at FROM relations
WHERE workspace_id = :workspace AND deleted_at IS NULL AND from_entity IN (SELECT value FROM json_each(:sources))
  AND to_entity IN (SELECT value FROM json_each(:targets))

-- name: relations.add
-- Add a relation.
INSERT INTO relations (workspace_id, id, from_entity, to_entity, relation_type, created_at)
VALUES (:workspace, :id, :source, :target, :type, :now)

-- name: relations.delete
-- Soft-delete relations.
UPDATE relations SET deleted_at = :now
WHERE workspace_id = :workspace AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))

-- name: relations.purgeable
-- Whether there are relations to purge.
SELECT 1 AS yes FROM relations WHERE workspace_id = :workspace AND deleted_at IS NOT NULL AND deleted_at <= :before
LIMIT 1

-- name: relations.purge
-- Permanently delete relations.
DELETE FROM relations WHERE workspace_id = :workspace AND deleted_at IS NOT NULL AND deleted_at <= :before

-- name: entities.rename
-- Rename an entity and its observations; the entity gets the writer of the new name.
UPDATE records SET name = :name, client = CASE WHEN kind = 'entity' THEN :client ELSE client END,
  tool = CASE WHEN kind = 'entity' THEN :tool ELSE tool END
WHERE workspace_id = :workspace AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))

-- name: records.attribute
-- Give a record the writer and the session of another one.
UPDATE records SET (client, tool, session_id) = (
  SELECT o.client, o.tool, o.session_id FROM records o WHERE o.workspace_id = :workspace AND o.id = :source)
WHERE workspace_id = :workspace AND id = :id

-- name: entities.unembed
-- Drop the vectors of some records, whose embedded text has changed.
DELETE FROM embeddings
WHERE workspace_id = :workspace AND perspective <> 'client' AND id IN (SELECT value FROM json_each(:ids))
