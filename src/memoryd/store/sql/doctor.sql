-- name: doctor.counts
-- The number of records of each kind, including volatile ones, and the number including deleted but unpurged ones.
SELECT kind, count(*) FILTER (WHERE deleted_at IS NULL) AS living, count(*) AS number FROM records
WHERE workspace_id = :workspace GROUP BY kind ORDER BY kind

-- name: doctor.owners
-- The workspaces that have rows in the file.
SELECT workspace_id, count(*) AS number FROM records GROUP BY workspace_id

-- name: doctor.unembedded
-- How many living records lack a vector of :model or :other from one of their perspectives.
SELECT count(*) AS number FROM (
  SELECT id FROM (
    SELECT id, CASE WHEN kind = 'observation' THEN :many ELSE 1 END AS vectors FROM records
    WHERE workspace_id = :workspace AND deleted_at IS NULL
    UNION ALL
    SELECT id, -1 FROM embeddings
    WHERE workspace_id = :workspace AND model IN (:model, :other) AND chunk = 0
      AND perspective IN (SELECT value FROM json_each(:perspectives))) needed
  GROUP BY id HAVING sum(vectors) > 0) lacking
