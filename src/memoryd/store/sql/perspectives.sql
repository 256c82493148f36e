-- name: perspectives.all
-- The perspectives that a workspace has of its own.
SELECT name, template FROM perspectives WHERE workspace_id = :workspace ORDER BY name

-- name: perspectives.add
-- One more, or another template for it.
INSERT INTO perspectives (workspace_id, name, template) VALUES (:workspace, :name, :template)
ON CONFLICT (workspace_id, name) DO UPDATE SET template = excluded.template

-- name: perspectives.clear
-- Back to the defaults.
DELETE FROM perspectives WHERE workspace_id = :workspace

-- name: perspectives.contexts
-- What templates may name of some living records; the entity's part is empty for all but observations.
SELECT r.id, r.kind, r.name, r.type, r.body, r.created_at, o.entity_id, e.type AS entity_type, e.body AS summary,
  e.tags AS entity_tags
FROM records r
LEFT JOIN observation_details o ON o.workspace_id = r.workspace_id AND o.id = r.id
LEFT JOIN records e ON e.workspace_id = o.workspace_id AND e.id = o.entity_id
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.id IN (SELECT value FROM json_each(:ids))

-- name: perspectives.related
-- The oldest relations of each of some entities, either way.
SELECT entity_id, relation_type, outgoing, other FROM (
  SELECT x.entity_id, x.relation_type, x.outgoing, n.name AS other,
    row_number() OVER (
      PARTITION BY x.entity_id ORDER BY x.created_at, n.name, x.relation_type, x.outgoing) AS place
  FROM (
    SELECT from_entity AS entity_id, to_entity AS other_id, relation_type, created_at, 1 AS outgoing
    FROM relations WHERE workspace_id = :workspace AND deleted_at IS NULL
      AND from_entity IN (SELECT value FROM json_each(:ids))
    UNION ALL
    SELECT to_entity, from_entity, relation_type, created_at, 0
    FROM relations WHERE workspace_id = :workspace AND deleted_at IS NULL
      AND to_entity IN (SELECT value FROM json_each(:ids))) x
  JOIN records n ON n.workspace_id = :workspace AND n.id = x.other_id) placed
WHERE place <= :limit
ORDER BY entity_id, place

-- name: perspectives.drop
-- Drop the vectors of entities' observations that are made from some perspectives: their texts have changed.
DELETE FROM embeddings WHERE workspace_id = :workspace AND perspective IN (SELECT value FROM json_each(:perspectives))
  AND id IN (
    SELECT o.id FROM observation_details o
    WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities)))

-- name: perspectives.observations
-- The living observations of some entities.
SELECT o.id FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities)) AND r.deleted_at IS NULL

-- name: perspectives.retire
-- Drop every vector that is made from some perspectives.
DELETE FROM embeddings WHERE workspace_id = :workspace AND perspective IN (SELECT value FROM json_each(:perspectives))
