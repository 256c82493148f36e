-- name: doctor.counts
-- The number of records of each kind, including volatile ones, and the number including deleted but unpurged ones.
SELECT kind, count(*) FILTER (WHERE deleted_at IS NULL) AS living, count(*) AS number FROM records
WHERE workspace_id = :workspace GROUP BY kind ORDER BY kind

-- name: doctor.owners
-- The workspaces that have rows in the file.
SELECT workspace_id, count(*) AS number FROM records GROUP BY workspace_id

-- name: doctor.unembedded
-- How many records lack vectors.
SELECT count(*) AS number FROM ({parts.lacking}) lacking
