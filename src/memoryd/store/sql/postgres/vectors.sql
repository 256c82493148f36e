-- name: vectors.settings
-- Set for this transaction: HNSW continues until it has found enough in this workspace, with at least :ef candidates;
-- with :sort off, rows are read in the order of an index.
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', :ef, true),
  set_config('hnsw.scan_mem_multiplier', '4', true), set_config('enable_sort', :sort, true)

-- name: vectors.index
-- Create the index over the vectors of one dimension and perspective in a partition, where a search skips only other
-- workspaces. m and ef_construction are pgvector's defaults. Writers are not blocked.
CREATE INDEX CONCURRENTLY {index} ON {partition} USING hnsw ((vector::halfvec({dim})) halfvec_cosine_ops)
WITH (m = 16, ef_construction = 64) WHERE dim = {dim} AND perspective = {perspective}

-- name: vectors.built
-- Whether an index exists, and whether it is valid.
SELECT i.indisvalid AS valid FROM pg_index i WHERE i.indexrelid = to_regclass(quote_ident(:index))

-- name: vectors.unindex
-- Drop an index that could not be built.
DROP INDEX CONCURRENTLY IF EXISTS {index}

-- name: vectors.lone
-- Take the lock for building indexes, if it is free. The session gets no time limits, and memory to build in.
SELECT pg_try_advisory_lock(1835363685) AS lone, set_config('lock_timeout', '0', false),
  set_config('statement_timeout', '0', false), set_config('maintenance_work_mem', '256MB', false)

-- name: vectors.place
-- The partition of a workspace, and how many vectors its index, named :prefix and a number, has if it exists.
SELECT p.relname AS partition, CASE WHEN c.oid IS NOT NULL THEN greatest(c.reltuples, 0) END AS total
FROM (SELECT tableoid FROM embeddings WHERE workspace_id = :workspace LIMIT 1) here
JOIN pg_class p ON p.oid = here.tableoid
LEFT JOIN (pg_index i JOIN pg_class c ON c.oid = i.indexrelid)
  ON i.indrelid = p.oid AND i.indisvalid AND c.relname = :prefix || substring(p.relname FROM '[0-9]+$')

-- name: vectors.number
-- How many vectors a set has, up to :most.
SELECT count(*) AS number FROM (
  SELECT 1 FROM embeddings
  WHERE workspace_id = :workspace AND perspective = :perspective AND model = :model AND dim = :dim LIMIT :most) counted

-- name: vectors.passing
-- How many records pass a filter, up to :most.
SELECT count(*) AS number FROM (
  SELECT 1 FROM records r WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL
    AND {parts.passing}
  LIMIT :most) counted

-- name: vectors.candidates
-- The approximately nearest chunks, from the index; OFFSET 0 keeps the visibility check from becoming a join, which the
-- planner would start with all records if it has no statistics of the workspace yet.
SELECT e.id FROM embeddings e
WHERE e.workspace_id = :workspace AND e.perspective = {perspective} AND e.model = :model AND e.dim = {dim} AND EXISTS (
  SELECT FROM records r WHERE r.workspace_id = :workspace AND r.id = e.id
    AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
    AND {parts.passing}
  OFFSET 0)
ORDER BY e.vector::halfvec({dim}) <=> :vector LIMIT :limit

-- name: vectors.nearest
-- The nearest records by cosine, each by the mean of its best chunk and of all its chunks. Every vector is compared,
-- then visibility is checked from the best on: joining all of them first takes four times as long.
WITH chunks AS MATERIALIZED (
  SELECT e.id, e.vector <=> :vector AS distance FROM embeddings e
  WHERE e.workspace_id = :workspace AND e.perspective = :perspective AND e.model = :model AND e.dim = :dim),
scored AS MATERIALIZED (
  SELECT id, 1 - (min(distance) + avg(distance)) / 2 AS cosine FROM chunks GROUP BY id ORDER BY 2 DESC, id)
SELECT s.id, s.cosine FROM scored s
WHERE EXISTS (
  SELECT FROM records r WHERE r.workspace_id = :workspace AND r.id = s.id
    AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
    AND {parts.passing}
  OFFSET 0)
LIMIT :limit

-- name: vectors.among
-- The nearest records among the few that pass a filter: these are selected first.
WITH passing AS MATERIALIZED (
  SELECT r.id FROM records r
  WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
    AND {parts.passing}),
chunks AS MATERIALIZED (
  SELECT e.id, e.vector <=> :vector AS distance FROM passing p JOIN embeddings e ON e.id = p.id
  WHERE e.workspace_id = :workspace AND e.perspective = :perspective AND e.model = :model AND e.dim = :dim)
SELECT id, 1 - (min(distance) + avg(distance)) / 2 AS cosine FROM chunks GROUP BY id ORDER BY 2 DESC, id LIMIT :limit

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
