-- name: vectors.added
-- The first vectors after :seq, which an index lacks.
SELECT e.seq, r.rid, r.kind, e.vector FROM embeddings e
JOIN records r ON r.workspace_id = e.workspace_id AND r.id = e.id
WHERE e.workspace_id = :workspace AND e.perspective = :perspective AND e.model = :model AND e.dim = :dim
  AND length(e.vector) = 2 * e.dim AND e.seq > :seq
ORDER BY e.seq LIMIT :limit

-- name: vectors.removed
-- The removals after :seq, which an index lacks.
SELECT seq, embedding FROM embedding_tombstones WHERE workspace_id = :workspace AND seq > :seq

-- name: vectors.exact
-- The stored vectors of some rows of an index.
SELECT e.seq, e.vector FROM json_each(:seqs) wanted CROSS JOIN embeddings e ON e.seq = wanted.value
WHERE e.dim = :dim AND length(e.vector) = 2 * e.dim

-- name: vectors.trim
-- Delete old removals: an index that is further behind reloads.
DELETE FROM embedding_tombstones WHERE seq <= (SELECT max(seq) FROM embedding_tombstones) - :keep

-- name: vectors.of_entities
-- The first vectors of observations after :seq, with their entities. Deleted observations have none.
SELECT e.seq, o.entity_id, e.dim, e.vector FROM embeddings e
JOIN observation_details o ON o.workspace_id = e.workspace_id AND o.id = e.id
WHERE e.workspace_id = :workspace AND e.perspective = :perspective AND e.model = :model
  AND length(e.vector) = 2 * e.dim AND e.seq > :seq
ORDER BY e.seq LIMIT :limit

-- name: vectors.of
-- The vectors of some records, in the order of their texts.
SELECT id, dim, vector FROM embeddings
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids)) AND perspective = :perspective
  AND model = :model AND length(vector) = 2 * dim
ORDER BY id, chunk
