-- name: search.marks
-- The last change of words in the workspace, and the oldest one still known.
SELECT coalesce(max(seq), 0) AS changes, coalesce(min(seq), 0) AS oldest_change
FROM word_changes WHERE workspace_id = :workspace

-- name: search.extent
-- The number of living records of some kinds, and their mean length in a sample of :sample.
SELECT count(*) AS number, coalesce((
    SELECT avg(length(s.words)) FROM (
      SELECT words FROM records WHERE workspace_id = :workspace AND deleted_at IS NULL
        AND (:kinds = '[]' OR kind IN (SELECT value FROM json_each(:kinds))) LIMIT :sample) s), 1)::float8
  AS length
FROM records WHERE workspace_id = :workspace AND deleted_at IS NULL
  AND (:kinds = '[]' OR kind IN (SELECT value FROM json_each(:kinds)))

-- name: words.parts
-- The records that match each of :terms: a hash of the id, and the part of BM25 without the term's rarity; a word in a
-- title counts twice. ts_rank is the sum of 1/i^2 over the n occurrences of a word, divided by the sum over all i,
-- 1.64493: the rest of that sum is about 1 / (n + 1/2).
WITH terms AS MATERIALIZED (
  SELECT to_tsquery('memoryd', t.value ->> 0) AS term, to_tsquery('memoryd', t.value ->> 1) AS titled, t.place
  FROM jsonb_array_elements(:terms::jsonb) WITH ORDINALITY t (value, place))
SELECT (
  SELECT coalesce(string_agg(int8send(hashtextextended(r.id, 0))
    || float4send((2.2 / (1 + 1.2 * (.25 + .75 * length(r.words) / :length) / c.times))::float4), ''), '')
  FROM records r CROSS JOIN LATERAL (
    SELECT greatest(1, 1 / (1.6550 - 1.64493 * least(1, ts_rank('{1,1,1,1}', r.words, t.term))) - .5)
      + CASE WHEN r.words @@ t.titled THEN 1 ELSE 0 END AS times) c
  WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.words @@ t.term
    AND (:kinds = '[]' OR r.kind IN (SELECT value FROM json_each(:kinds)))) AS parts
FROM terms t ORDER BY t.place

-- name: words.further
-- Like words.parts, for the records changed since a change; 0 is the part of records that do not match.
WITH terms AS MATERIALIZED (
  SELECT to_tsquery('memoryd', t.value ->> 0) AS term, to_tsquery('memoryd', t.value ->> 1) AS titled, t.place
  FROM jsonb_array_elements(:terms::jsonb) WITH ORDINALITY t (value, place)),
changed AS MATERIALIZED (
  SELECT hashtextextended(c.id, 0) AS rid, r.words
  FROM (SELECT DISTINCT id FROM word_changes WHERE workspace_id = :workspace AND seq > :since) c
  LEFT JOIN records r ON r.workspace_id = :workspace AND r.id = c.id AND r.deleted_at IS NULL
    AND (:kinds = '[]' OR r.kind IN (SELECT value FROM json_each(:kinds))))
SELECT (
  SELECT coalesce(string_agg(int8send(r.rid) || float4send(CASE WHEN r.words @@ t.term THEN
      2.2 / (1 + 1.2 * (.25 + .75 * length(r.words) / :length) / c.times) ELSE 0 END::float4), ''), '')
  FROM changed r CROSS JOIN LATERAL (
    SELECT greatest(1, 1 / (1.6550 - 1.64493 * least(1, ts_rank('{1,1,1,1}', r.words, t.term))) - .5)
      + CASE WHEN r.words @@ t.titled THEN 1 ELSE 0 END AS times) c) AS parts
FROM terms t ORDER BY t.place

-- name: words.forget
-- Delete the log of a workspace that is being deleted.
DELETE FROM word_changes WHERE workspace_id = :workspace

-- name: parts.passing
-- A part of statements: what a filter demands of a record `r` beside its scope.
(:kinds = '[]' OR r.kind IN (SELECT value FROM json_each(:kinds)))
  AND (:tags = '[]' OR r.tags::jsonb @> :tags::jsonb)
  AND (:entity = '' OR r.id IN (
    SELECT o.id FROM observation_details o WHERE o.workspace_id = :workspace AND o.entity_id = :entity))
  AND (:shelf = '' OR (r.kind = 'memory' AND r.name IS NOT NULL
    AND (:shelf = 'all' OR (:shelf = 'session') = (r.scope <> ''))))
  AND (:among = '' OR r.id IN (SELECT value FROM json_each(nullif(:among, ''))))
  AND (:after = '' OR r.created_at >= :after) AND (:before = '' OR r.created_at < :before)

-- name: search.admitted
-- Which of some records may be found; OFFSET 0 keeps the planner from scanning a workspace that it takes to be small.
SELECT wanted.rid, r.id FROM unnest(:rids::bigint[]) wanted (rid) CROSS JOIN LATERAL (
  SELECT * FROM records r WHERE r.workspace_id = :workspace AND hashtextextended(r.id, 0) = wanted.rid OFFSET 0) r
WHERE r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
  AND (:match = '' OR r.words @@ to_tsquery('memoryd', :match))
  AND {parts.passing}

-- name: search.passing
-- All records that may be found.
SELECT coalesce(string_agg(int8send(hashtextextended(r.id, 0)), ''), '') AS rids FROM records r
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
  AND (:match = '' OR r.words @@ to_tsquery('memoryd', :match))
  AND {parts.passing}

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
SELECT coalesce(max(seq), 0) AS number FROM events WHERE workspace_id = :workspace
