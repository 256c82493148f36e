-- name: entities.pending
-- Entities without a summary, or with an observation newer than it, the last observed first; each row has the total.
-- A replaced observation has a new updated_at. A change of an entity updates that of the entity, so that the
-- observations of most entities need not be read.
SELECT d.id, min(n.name) AS name, min(n.type) AS entity_type, min(n.updated_at) AS updated_at,
  count(r.id) AS observation_count, max(r.updated_at) AS last_observation_at,
  min(d.summary_updated_at) AS summary_updated_at, count(*) OVER () AS total
FROM entity_details d
JOIN records n ON n.workspace_id = d.workspace_id AND n.id = d.id AND n.deleted_at IS NULL
LEFT JOIN observation_details o ON o.workspace_id = d.workspace_id AND o.entity_id = d.id
LEFT JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id AND r.deleted_at IS NULL
WHERE d.workspace_id = :workspace AND (d.summary_updated_at IS NULL OR d.summary_updated_at < n.updated_at)
GROUP BY d.id HAVING min(d.summary_updated_at) IS NULL OR min(d.summary_updated_at) < max(r.updated_at)
ORDER BY coalesce(max(r.updated_at), '') DESC, name LIMIT :limit

-- name: observations.sample
-- The texts of some observations: ids are random, so the first ones are a fair sample.
SELECT r.body FROM observation_details o
JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id AND r.deleted_at IS NULL
WHERE o.workspace_id = :workspace ORDER BY o.id LIMIT :limit

-- name: observations.embedded
-- How many observations have vectors of a model; deleted observations have none.
SELECT count(*) AS number FROM observation_details o
WHERE o.workspace_id = :workspace AND EXISTS (
  SELECT 1 FROM embeddings e WHERE e.workspace_id = o.workspace_id AND e.id = o.id
    AND e.perspective = :perspective AND e.model = :model AND e.chunk = 0)

-- name: relations.count
-- The number of relations.
SELECT count(*) AS number FROM relations WHERE workspace_id = :workspace AND deleted_at IS NULL

-- name: events.since
-- How often each operation has happened since a time.
SELECT operation, count(*) AS number FROM events
WHERE workspace_id = :workspace AND at >= :since GROUP BY operation
