-- name: doctor.vectors
-- A page of the stored vectors after :after; not those that callers supplied.
SELECT seq, model, dim, vector FROM embeddings
WHERE workspace_id = :workspace AND perspective <> 'client' AND seq > :after ORDER BY seq LIMIT :limit

-- name: doctor.drop
-- Drop damaged vectors, so that their records are embedded again: a record with one bad chunk loses all its vectors.
DELETE FROM embeddings
WHERE workspace_id = :workspace AND (id, perspective, model) IN (
  SELECT bad.id, bad.perspective, bad.model FROM embeddings bad WHERE bad.seq IN (SELECT value FROM json_each(:seqs)))
