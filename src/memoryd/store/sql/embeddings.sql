-- name: embeddings.add
-- Add the vector of one chunk, unless another process has added it.
INSERT INTO embeddings (workspace_id, id, chunk, perspective, model, dim, vector)
VALUES (:workspace, :id, :chunk, :perspective, :model, :dim, :vector)
ON CONFLICT (workspace_id, id, perspective, model, chunk) DO NOTHING

-- name: embeddings.clear
-- Drop the computed vectors of a record, whose text has changed; a caller's own vectors stay.
DELETE FROM embeddings WHERE workspace_id = :workspace AND id = :id AND perspective <> 'client'

-- name: embeddings.withdraw
-- Drop the vectors of a record from one perspective.
DELETE FROM embeddings WHERE workspace_id = :workspace AND id = :id AND perspective = :perspective

-- name: embeddings.refile
-- Drop the vectors of a record in a set to which its text does not belong.
DELETE FROM embeddings WHERE workspace_id = :workspace AND id = :id AND model = :model

-- name: parts.lacking
-- A part of statements: living records with ids after :after and up to :last that lack a vector of :model or :other,
-- observations from any of the :perspectives, all others from the general one. What each needs minus what it has: no
-- look-up for each record, of which nearly all have what they need.
SELECT id FROM (
  SELECT id, CASE WHEN kind = 'observation' THEN :many ELSE 1 END AS vectors FROM records
  WHERE workspace_id = :workspace AND deleted_at IS NULL AND id > :after AND id <= :last
  UNION ALL
  SELECT id, -1 FROM embeddings
  WHERE workspace_id = :workspace AND model IN (:model, :other) AND chunk = 0 AND id > :after AND id <= :last
    AND perspective IN (SELECT value FROM json_each(:perspectives))) needed
GROUP BY id HAVING sum(vectors) > 0

-- name: embeddings.missing
-- A batch of these, ordered by id, after the end of the last batch.
{parts.lacking} ORDER BY id LIMIT :limit

-- name: embeddings.behind
-- How many living records lack a vector of :model or :other, as the difference of two counts: deleted records have none.
SELECT (SELECT count(*) FROM records r WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL)
  - (SELECT count(*) FROM embeddings e
    WHERE e.workspace_id = :workspace AND e.perspective = :perspective AND e.model IN (:model, :other) AND e.chunk = 0) AS number

-- name: embeddings.lacking
-- The living records among :ids that lack a vector of :model or :other, and whether a search may see each.
SELECT r.id, CASE WHEN (r.scope = '' OR r.scope = :session)
    AND (:kinds = '[]' OR r.kind IN (SELECT value FROM json_each(:kinds)))
    AND (:tag_count = 0 OR :tag_count = (
      SELECT count(*) FROM json_each(r.tags) t WHERE t.value IN (SELECT value FROM json_each(:tags))))
    AND (:entity = '' OR r.id IN (
      SELECT o.id FROM observation_details o WHERE o.workspace_id = :workspace AND o.entity_id = :entity))
    AND (:among = '' OR r.id IN (SELECT value FROM json_each(nullif(:among, ''))))
    AND (:after = '' OR r.created_at >= :after) AND (:before = '' OR r.created_at < :before)
  THEN 1 ELSE 0 END AS seen
FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.id IN (SELECT value FROM json_each(:ids))
  AND NOT EXISTS (
    SELECT 1 FROM embeddings e
    WHERE e.workspace_id = r.workspace_id AND e.id = r.id AND e.perspective = :perspective
      AND e.model IN (:model, :other) AND e.chunk = 0)
ORDER BY r.id

-- name: embeddings.present
-- The perspectives from which some records have vectors of :model or :other; :first and :last of their ids keep this from reading
-- a whole workspace for a batch of its backlog.
SELECT id, perspective FROM embeddings
WHERE workspace_id = :workspace AND model IN (:model, :other) AND chunk = 0 AND id >= :first AND id <= :last
  AND id IN (SELECT value FROM json_each(:ids))

-- name: embeddings.some
-- Whether a model has any vector here.
SELECT 1 AS yes FROM embeddings
WHERE workspace_id = :workspace AND perspective = :perspective AND model = :model LIMIT 1

-- name: embeddings.models
-- The models that have vectors here, and of how many records.
SELECT model, count(*) AS number FROM embeddings
WHERE workspace_id = :workspace AND perspective = :perspective AND chunk = 0
GROUP BY model ORDER BY model

-- name: embeddings.sets
-- The models and perspectives that have vectors here, without a caller's own vectors.
SELECT DISTINCT perspective, model FROM embeddings WHERE workspace_id = :workspace AND perspective <> 'client'

-- name: embeddings.drop
-- Drop a part of a set of vectors.
DELETE FROM embeddings
WHERE workspace_id = :workspace AND perspective = :perspective AND model = :model
  AND id IN (
    SELECT old.id FROM embeddings old
    WHERE old.workspace_id = :workspace AND old.perspective = :perspective AND old.model = :model LIMIT :limit)
