-- name: doctor.counts
-- How much of each kind there is, volatile rows included, and how much with what is deleted but not purged.
SELECT kind, count(*) FILTER (WHERE deleted_at IS NULL) AS living, count(*) AS number FROM records
WHERE workspace_id = :workspace GROUP BY kind ORDER BY kind

-- name: doctor.owners
-- Which workspaces have rows here, over the whole file.
SELECT workspace_id, count(*) AS number FROM records GROUP BY workspace_id

-- name: doctor.unembedded
-- How many living records have no vector of :model.
SELECT count(*) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL
  AND NOT EXISTS (
    SELECT 1 FROM embeddings e
    WHERE e.workspace_id = r.workspace_id AND e.id = r.id AND e.perspective = :perspective AND e.model = :model)
