-- name: perspectives.all
-- The perspectives that a workspace defines itself.
SELECT name, template FROM perspectives WHERE workspace_id = :workspace ORDER BY name

-- name: perspectives.add
-- Add a perspective.
INSERT INTO perspectives (workspace_id, name, template) VALUES (:workspace, :name, :template)

-- name: perspectives.clear
-- Remove all perspectives, which restores the defaults.
DELETE FROM perspectives WHERE workspace_id = :workspace

-- name: perspectives.contexts
-- The fields of some living records for templates; those of the entity are empty for all but observations.
SELECT r.id, r.kind, r.name, r.type, r.body, r.related, r.created_at, o.entity_id, e.type AS entity_type, e.body AS summary,
  e.tags AS entity_tags
FROM records r
LEFT JOIN observation_details o ON o.workspace_id = r.workspace_id AND o.id = r.id
LEFT JOIN records e ON e.workspace_id = o.workspace_id AND e.id = o.entity_id
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.id IN (SELECT value FROM json_each(:ids))

-- name: perspectives.related
-- The relations of some entities, as the store lists them.
SELECT id, related FROM records WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: perspectives.drop
-- Drop the vectors of entities' observations from some perspectives, whose texts have changed.
DELETE FROM embeddings WHERE workspace_id = :workspace AND perspective IN (SELECT value FROM json_each(:perspectives))
  AND id IN (
    SELECT o.id FROM observation_details o
    WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities)))

-- name: perspectives.observations
-- The living observations of some entities.
SELECT o.id FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id IN (SELECT value FROM json_each(:entities)) AND r.deleted_at IS NULL
