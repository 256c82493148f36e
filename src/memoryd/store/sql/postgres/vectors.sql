-- name: vectors.nearest
-- The nearest records by cosine, each by the mean of its best chunk and of all its chunks; every vector is looked at.
SELECT id, (max(cosine) + avg(cosine)) / 2 AS cosine FROM (
  SELECT e.id, 1 - (e.vector <=> :vector) AS cosine
  FROM embeddings e JOIN records r ON r.workspace_id = e.workspace_id AND r.id = e.id
  WHERE e.workspace_id = :workspace AND e.perspective = :perspective AND e.model = :model AND e.dim = :dim
    AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
    AND (:kinds = '[]' OR r.kind IN (SELECT value FROM json_each(:kinds)))
    AND (:tags = '[]' OR r.tags::jsonb @> :tags::jsonb)
    AND (:entity = '' OR r.id IN (
      SELECT o.id FROM observation_details o WHERE o.workspace_id = :workspace AND o.entity_id = :entity))) chunks
GROUP BY id ORDER BY 2 DESC, id LIMIT :limit

-- name: vectors.cosines
-- The cosines of some records.
SELECT e.id, (max(1 - (e.vector <=> :vector)) + avg(1 - (e.vector <=> :vector))) / 2 AS cosine FROM embeddings e
WHERE e.workspace_id = :workspace AND e.perspective = :perspective AND e.model = :model AND e.dim = :dim
  AND e.id IN (SELECT value FROM json_each(:ids))
GROUP BY e.id

-- name: vectors.means
-- The mean of the vectors of each entity's living observations.
SELECT o.entity_id AS id, avg(e.vector) AS vector FROM embeddings e
JOIN observation_details o ON o.workspace_id = e.workspace_id AND o.id = e.id
WHERE e.workspace_id = :workspace AND e.perspective = :perspective AND e.model = :model
GROUP BY o.entity_id ORDER BY o.entity_id

-- name: vectors.of
-- The vectors of some records, in the order of their texts.
SELECT id, dim, vector FROM embeddings
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids)) AND perspective = :perspective
  AND model = :model
ORDER BY id, chunk
