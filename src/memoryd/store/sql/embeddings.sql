-- name: embeddings.add
-- The vector of one chunk.
INSERT INTO embeddings (workspace_id, id, chunk, perspective, model, dim, vector)
VALUES (:workspace, :id, :chunk, :perspective, :model, :dim, :vector)

-- name: embeddings.clear
-- The text has changed, so what was computed from it goes; a caller's own vectors are not ours to drop here.
DELETE FROM embeddings WHERE workspace_id = :workspace AND id = :id AND perspective <> 'client'

-- name: embeddings.missing
-- Living records without a vector of :model, in the order of their ids, after the one where the last batch ended.
SELECT r.id, r.kind, r.name, r.type, r.body, r.updated_at FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.id > :after
  AND NOT EXISTS (
    SELECT 1 FROM embeddings e
    WHERE e.workspace_id = r.workspace_id AND e.id = r.id AND e.perspective = :perspective AND e.model = :model)
ORDER BY r.id LIMIT :limit

-- name: embeddings.unchanged
-- Whether a text is still the one that was embedded, and nobody else has embedded it meanwhile.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.id = :id AND r.deleted_at IS NULL AND r.updated_at = :updated_at
  AND NOT EXISTS (
    SELECT 1 FROM embeddings e
    WHERE e.workspace_id = r.workspace_id AND e.id = r.id AND e.perspective = :perspective AND e.model = :model)

-- name: embeddings.some
-- Whether a model has any vector here.
SELECT 1 AS yes FROM embeddings
WHERE workspace_id = :workspace AND perspective = :perspective AND model = :model LIMIT 1

-- name: embeddings.models
-- Which models have vectors here, and of how many records.
SELECT model, count(*) AS number FROM embeddings
WHERE workspace_id = :workspace AND perspective = :perspective AND chunk = 0
GROUP BY model ORDER BY model

-- name: embeddings.retire
-- Drop a part of an older model's vectors.
DELETE FROM embeddings WHERE workspace_id = :workspace AND perspective = :perspective AND model = :model
  AND id IN (
    SELECT old.id FROM embeddings old
    WHERE old.workspace_id = :workspace AND old.perspective = :perspective AND old.model = :model LIMIT :limit)
