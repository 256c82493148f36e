-- name: search.extent
-- How many living records there are, and how long they are: the mean of :sample.
SELECT count(*) AS number, coalesce((
    SELECT avg(length(s.words)) FROM (
      SELECT words FROM records WHERE workspace_id = :workspace AND deleted_at IS NULL LIMIT :sample) s), 1)::float8
  AS length
FROM records WHERE workspace_id = :workspace AND deleted_at IS NULL

-- name: search.having
-- In how many of the :number living records each term is: counted up to :most, beyond that by its share in a sample.
WITH asked AS MATERIALIZED (SELECT value AS term, to_tsquery('memoryd', value) AS query FROM json_each(:terms)),
sample AS MATERIALIZED (
  SELECT words FROM records WHERE workspace_id = :workspace AND deleted_at IS NULL LIMIT :sample)
SELECT a.term, CASE WHEN few.number < :most THEN few.number ELSE greatest(few.number, (
    SELECT count(*) FROM sample s WHERE s.words @@ a.query) * :number / :sample) END AS having
FROM asked a CROSS JOIN LATERAL (
  SELECT count(*) AS number FROM (
    SELECT 1 FROM records r
    WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.words @@ a.query LIMIT :most) counted) few

-- name: search.words
-- The best matches by words, by BM25; a word in a title counts once more. ts_rank is the sum of 1/i^2 over the n times
-- that a word comes, divided by that of all i, 1.64493: what lacks from there is about 1 / (n + 1/2).
WITH terms AS MATERIALIZED (
  SELECT to_tsquery('memoryd', t.value ->> 0) AS term, to_tsquery('memoryd', t.value ->> 1) AS titled,
    (t.value ->> 2)::float8 AS weight
  FROM jsonb_array_elements(:terms::jsonb) t (value)),
matching AS (
  SELECT r.id, r.words, 1.2 * (.25 + .75 * length(r.words) / :length) AS norm
  FROM records r
  WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.words @@ to_tsquery('memoryd', :match)
    AND (r.scope = '' OR r.scope = :session)
    AND (:kinds = '[]' OR r.kind IN (SELECT value FROM json_each(:kinds)))
    AND (:tags = '[]' OR r.tags::jsonb @> :tags::jsonb)
    AND (:entity = '' OR r.id IN (
      SELECT o.id FROM observation_details o WHERE o.workspace_id = :workspace AND o.entity_id = :entity))
    AND (:shelf = '' OR (r.kind = 'memory' AND r.name IS NOT NULL
      AND (:shelf = 'all' OR (:shelf = 'session') = (r.scope <> ''))))
    AND (:among = '' OR r.id IN (SELECT value FROM json_each(nullif(:among, '')))))
SELECT m.id, s.score FROM matching m CROSS JOIN LATERAL (
  SELECT coalesce(sum(t.weight * 2.2 * c.times / (c.times + m.norm)), 0) AS score
  FROM terms t CROSS JOIN LATERAL (
    SELECT greatest(1, 1 / (1.6550 - 1.64493 * least(1, ts_rank('{1,1,1,1}', m.words, t.term))) - .5)
      + CASE WHEN m.words @@ t.titled THEN 1 ELSE 0 END AS times) c
  WHERE m.words @@ t.term) s
ORDER BY s.score DESC, m.id LIMIT :limit

-- name: search.matching
-- Which of some records match.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.words @@ to_tsquery('memoryd', :match)
  AND r.id IN (SELECT value FROM json_each(:ids))

-- name: search.coverage
-- How many of :terms each of some records has.
WITH terms AS MATERIALIZED (SELECT to_tsquery('memoryd', value) AS term FROM json_each(:terms))
SELECT r.id, (SELECT count(*) FROM terms t WHERE r.words @@ t.term) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.id IN (SELECT value FROM json_each(:ids))

-- name: events.latest
-- The last event of the workspace.
SELECT coalesce(max(seq), 0) AS seq FROM events WHERE workspace_id = :workspace
