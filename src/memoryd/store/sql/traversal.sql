-- name: entities.by_id
-- Some living entities, by id.
SELECT id, name, type, body, tags, created_at, updated_at FROM records
WHERE workspace_id = :workspace AND kind = 'entity' AND deleted_at IS NULL
  AND id IN (SELECT value FROM json_each(:ids))

-- name: entities.names
-- The name of every entity.
SELECT id, name FROM records WHERE workspace_id = :workspace AND kind = 'entity' AND deleted_at IS NULL

-- name: entities.orphans
-- The entities without a relation, the last changed first. A relation with itself counts.
SELECT n.id, n.name, n.type, n.body, n.tags, n.created_at, n.updated_at FROM records n
WHERE n.workspace_id = :workspace AND n.kind = 'entity' AND n.deleted_at IS NULL
  AND NOT EXISTS (
    SELECT 1 FROM relations WHERE workspace_id = :workspace AND from_entity = n.id AND deleted_at IS NULL)
  AND NOT EXISTS (
    SELECT 1 FROM relations WHERE workspace_id = :workspace AND to_entity = n.id AND deleted_at IS NULL)
ORDER BY n.updated_at DESC, n.name

-- name: observations.texts
-- The texts of every entity's observations.
SELECT o.entity_id, r.body FROM observation_details o
JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND r.deleted_at IS NULL

-- name: relations.beside
-- The neighbours of some entities along any relation, in either direction.
SELECT from_entity AS here, to_entity AS there FROM relations
WHERE workspace_id = :workspace AND deleted_at IS NULL AND from_entity IN (SELECT value FROM json_each(:ids))
UNION SELECT to_entity, from_entity FROM relations
WHERE workspace_id = :workspace AND deleted_at IS NULL AND to_entity IN (SELECT value FROM json_each(:ids))

-- name: relations.pairs
-- The pairs of related entities, in the direction of the relation; with duplicates, which cost less than sorting.
SELECT from_entity, to_entity FROM relations WHERE workspace_id = :workspace AND deleted_at IS NULL
