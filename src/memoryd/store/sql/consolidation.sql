-- name: records.of_graph
-- How many entities and observations there are.
SELECT kind, count(*) AS number FROM records
WHERE workspace_id = :workspace AND kind IN ('entity', 'observation') AND deleted_at IS NULL GROUP BY kind

-- name: entities.pending
-- Entities without a summary, or with an observation that it is not as new as, the last observed first; each row tells
-- how many there are. A replaced observation has a new updated_at. What changes about an entity moves its own: this
-- spares looking at the observations of most.
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
-- What some observations say: ids are random, so the first ones are a fair sample.
SELECT r.body FROM observation_details o
JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id AND r.deleted_at IS NULL
WHERE o.workspace_id = :workspace ORDER BY o.id LIMIT :limit

-- name: observations.embedded
-- How many observations have vectors of a model. Those of deleted ones are gone.
SELECT count(*) AS number FROM observation_details o
WHERE o.workspace_id = :workspace AND EXISTS (
  SELECT 1 FROM embeddings e WHERE e.workspace_id = o.workspace_id AND e.id = o.id
    AND e.perspective = :perspective AND e.model = :model AND e.chunk = 0)

-- name: relations.count
-- How many relations there are.
SELECT count(*) AS number FROM relations WHERE workspace_id = :workspace AND deleted_at IS NULL

-- name: events.since
-- How often each operation happened since a time.
SELECT operation, count(*) AS number FROM events
WHERE workspace_id = :workspace AND at >= :since GROUP BY operation
