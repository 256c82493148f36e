-- name: entities.named
-- Living entities by name. The doubled condition on kind lets SQLite use the index of names, which has it.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND kind IN ('memory', 'entity') AND scope = ''
  AND deleted_at IS NULL AND name IN (SELECT value FROM json_each(:names))

-- name: entities.add
-- What only entities have.
INSERT INTO entity_details (workspace_id, id, summary_updated_at) VALUES (:workspace, :id, :summary_updated_at)

-- name: entities.touch
-- Something of them has changed. A clock of another machine may be ahead: their time never goes back.
UPDATE records SET updated_at = :now
WHERE workspace_id = :workspace AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))
  AND updated_at < :now

-- name: entities.summarized
-- When the summary was last written.
UPDATE entity_details SET summary_updated_at = :now WHERE workspace_id = :workspace AND id = :id

-- name: entities.by_type
-- The entities of a type, by name.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND type = :type AND deleted_at IS NULL ORDER BY name

-- name: entities.recent
-- The entities that changed since a time, the latest first.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND deleted_at IS NULL AND updated_at >= :since
ORDER BY updated_at DESC, id LIMIT :limit

-- name: entities.page
-- Entities in the order of their names, from one on.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND kind IN ('memory', 'entity') AND scope = ''
  AND deleted_at IS NULL AND name >= :start
ORDER BY name LIMIT :limit

-- name: observations.number
-- Take the next ordinals of an entity; tells the first of them.
UPDATE entity_details SET next_ordinal = next_ordinal + :count WHERE workspace_id = :workspace AND id = :entity
RETURNING next_ordinal - :count AS first

-- name: observations.same
-- Which of some texts are observed of some entities already.
SELECT o.entity_id, r.body FROM observation_details o
JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id AND r.deleted_at IS NULL
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities))
  AND r.body IN (SELECT value FROM json_each(:contents))

-- name: observations.add
-- Which entity an observation is about, and its place there.
INSERT INTO observation_details (workspace_id, entity_id, ordinal, id) VALUES (:workspace, :entity, :ordinal, :id)

-- name: observations.of
-- The living observations of some entities, in the order of their ordinals.
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

-- name: observations.latest
-- The last living observations of an entity, backwards.
SELECT o.ordinal, r.id, r.body, r.created_at, r.updated_at
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id = :entity AND r.deleted_at IS NULL
ORDER BY o.ordinal DESC LIMIT :limit

-- name: observations.count
-- How many living observations some entities have; none is no row.
SELECT o.entity_id, count(*) AS number
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities)) AND r.deleted_at IS NULL
GROUP BY o.entity_id

-- name: observations.by_id
-- Some living observations with their ordinals.
SELECT r.id, o.ordinal, r.body FROM observation_details o
JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.id IN (SELECT value FROM json_each(:ids)) AND r.deleted_at IS NULL

-- name: relations.of
-- The relations that begin or end at some entities, in the order in which they were made.
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
-- How many relations begin or end at some entities.
SELECT count(*) AS number FROM (
  SELECT id FROM relations
  WHERE workspace_id = :workspace AND deleted_at IS NULL AND from_entity IN (SELECT value FROM json_each(:ids))
  UNION
  SELECT id FROM relations
  WHERE workspace_id = :workspace AND deleted_at IS NULL AND to_entity IN (SELECT value FROM json_each(:ids))) x

-- name: relations.onward
-- The relations that begin at an entity, from one on, in the order in which they were made.
SELECT x.id, s.name AS source, t.name AS target, x.relation_type, x.created_at
FROM relations x
JOIN records s ON s.workspace_id = x.workspace_id AND s.id = x.from_entity
JOIN records t ON t.workspace_id = x.workspace_id AND t.id = x.to_entity
WHERE x.workspace_id = :workspace AND x.from_entity = :entity AND x.deleted_at IS NULL
  AND (x.created_at, x.id) >= (:made, :relation)
ORDER BY x.created_at, x.id LIMIT :limit

-- name: relations.starting
-- The relations that begin at some entities.
SELECT x.id, x.from_entity, s.name AS source, t.name AS target, x.relation_type, x.created_at
FROM relations x
JOIN records s ON s.workspace_id = x.workspace_id AND s.id = x.from_entity
JOIN records t ON t.workspace_id = x.workspace_id AND t.id = x.to_entity
WHERE x.workspace_id = :workspace AND x.deleted_at IS NULL AND x.from_entity IN (SELECT value FROM json_each(:ids))
ORDER BY x.created_at, s.name, t.name, x.relation_type

-- name: relations.between
-- The relations between two entities, either way.
SELECT x.id, s.name AS source, t.name AS target, x.relation_type, x.created_at
FROM relations x
JOIN records s ON s.workspace_id = x.workspace_id AND s.id = x.from_entity
JOIN records t ON t.workspace_id = x.workspace_id AND t.id = x.to_entity
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
-- A new relation.
INSERT INTO relations (workspace_id, id, from_entity, to_entity, relation_type, created_at)
VALUES (:workspace, :id, :source, :target, :type, :now)

-- name: relations.delete
-- Soft, like the records that they join.
UPDATE relations SET deleted_at = :now
WHERE workspace_id = :workspace AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))

-- name: relations.purgeable
-- Whether there is anything to purge.
SELECT 1 AS yes FROM relations WHERE workspace_id = :workspace AND deleted_at IS NOT NULL AND deleted_at <= :before
LIMIT 1

-- name: relations.purge
-- For good.
DELETE FROM relations WHERE workspace_id = :workspace AND deleted_at IS NOT NULL AND deleted_at <= :before

-- name: entities.rename
-- Another name for an entity and its observations; the entity's is by who gives it.
UPDATE records SET name = :name, client = CASE WHEN kind = 'entity' THEN :client ELSE client END,
  tool = CASE WHEN kind = 'entity' THEN :tool ELSE tool END
WHERE workspace_id = :workspace AND deleted_at IS NULL AND id IN (SELECT value FROM json_each(:ids))

-- name: records.attribute
-- A record is by who made another one, in that one's session.
UPDATE records SET (client, tool, session_id) = (
  SELECT o.client, o.tool, o.session_id FROM records o WHERE o.workspace_id = :workspace AND o.id = :source)
WHERE workspace_id = :workspace AND id = :id

-- name: entities.unembed
-- Drop the vectors of some records: the text that they were made from has changed.
DELETE FROM embeddings
WHERE workspace_id = :workspace AND perspective <> 'client' AND id IN (SELECT value FROM json_each(:ids))
