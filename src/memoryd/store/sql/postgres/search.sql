-- name: search.statistics
-- How many living records there are and how long they are, of :most at most, and in how many of them each term is.
WITH living AS MATERIALIZED (
  SELECT words FROM records WHERE workspace_id = :workspace AND deleted_at IS NULL LIMIT :most)
SELECT t.value AS term, (
    SELECT count(*) FROM (
      SELECT 1 FROM records r
      WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.words @@ to_tsquery('memoryd', t.value)
      LIMIT :most) having_it) AS having,
  (SELECT count(*) FROM living) AS number, (SELECT coalesce(avg(length(words)), 1)::float8 FROM living) AS length
FROM json_each(:terms) t

-- name: search.words
-- The best matches by words: BM25, where a word counts once in a text and thrice in a title.
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
      SELECT o.id FROM observation_details o WHERE o.workspace_id = :workspace AND o.entity_id = :entity)))
SELECT m.id, s.score FROM matching m CROSS JOIN LATERAL (
  SELECT coalesce(sum(
    CASE WHEN m.words @@ t.titled THEN t.weight * 3 * 2.2 / (3 + m.norm) ELSE t.weight * 2.2 / (1 + m.norm) END), 0)
    AS score
  FROM terms t WHERE m.words @@ t.term) s
ORDER BY s.score DESC, m.id LIMIT :limit
