-- name: search.extent
-- Whether the file holds other workspaces too: if not, no word need tell them apart, which takes half the time. And how
-- many records it holds at most.
SELECT EXISTS (SELECT 1 FROM records WHERE workspace_id < :workspace)
    OR EXISTS (SELECT 1 FROM records WHERE workspace_id > :workspace) AS shared,
  (SELECT coalesce(max(rid), 0) FROM records) AS most

-- name: search.words
-- The best matches by words. bm25 is spelled out because ORDER BY rank is slower; scope_tokens weighs nothing.
SELECT r.id, -bm25(records_fts, 0, :title, :type, :body, :tag) AS score
FROM records_fts JOIN records r ON r.rid = records_fts.rowid
WHERE records_fts MATCH :match AND (r.scope = '' OR r.scope = :session)
  AND (:tag_count = 0 OR :tag_count = (
    SELECT count(*) FROM record_tags t
    WHERE t.rid = r.rid AND t.workspace_id = :workspace AND t.tag IN (SELECT value FROM json_each(:tags))))
  AND (:entity = '' OR r.id IN (
    SELECT o.id FROM observation_details o WHERE o.workspace_id = :workspace AND o.entity_id = :entity))
  AND (:shelf = '' OR (r.kind = 'memory' AND r.name IS NOT NULL
    AND (:shelf = 'all' OR (:shelf = 'session') = (r.scope <> ''))))
  AND (:among = '' OR r.id IN (SELECT value FROM json_each(nullif(:among, ''))))
ORDER BY bm25(records_fts, 0, :title, :type, :body, :tag) LIMIT :limit

-- name: search.having
-- How many records match each of :terms, in their order; counted up to :most.
SELECT (SELECT count(*) FROM (SELECT 1 FROM records_fts WHERE records_fts MATCH t.value LIMIT :most + 1)) AS number
FROM json_each(:terms) t ORDER BY t.key

-- name: search.tagged
-- The records that have ALL tags, as one JSON list: rows one by one would take longer than the search.
SELECT json_group_array(rid) AS rids FROM (
  SELECT t.rid FROM record_tags t
  WHERE t.workspace_id = :workspace AND t.tag IN (SELECT value FROM json_each(:tags))
  GROUP BY t.rid HAVING count(*) = :tag_count)

-- name: search.matching
-- Which of some records match.
SELECT r.id FROM json_each(:ids) wanted
CROSS JOIN records r ON r.workspace_id = :workspace AND r.id = wanted.value AND r.deleted_at IS NULL
CROSS JOIN records_fts ON records_fts.rowid = r.rid
WHERE records_fts MATCH :match

-- name: search.texts
-- What the index holds of some records.
SELECT r.id, t.title, t.type, t.body, t.tags
FROM json_each(:ids) wanted
CROSS JOIN records r ON r.workspace_id = :workspace AND r.id = wanted.value
CROSS JOIN live_text t ON t.rid = r.rid

-- name: search.shelf
-- The memories with a key, as one JSON list: :shelf is `session`, `vault` or `all`.
SELECT json_group_array(rid) AS rids FROM records
WHERE workspace_id = :workspace AND kind = 'memory' AND name IS NOT NULL AND deleted_at IS NULL
  AND (scope = '' OR scope = :session) AND (:shelf = 'all' OR (:shelf = 'session') = (scope <> ''))

-- name: search.observations
-- The observations of an entity.
SELECT r.rid FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id = :entity AND r.deleted_at IS NULL

-- name: search.hidden
-- Volatile records of other sessions, as one JSON list.
SELECT json_group_array(rid) AS rids FROM records
WHERE scope <> '' AND scope <> :session AND workspace_id = :workspace AND deleted_at IS NULL

-- name: search.ids
-- From the keys of the index to ids.
SELECT rid, id FROM records WHERE rid IN (SELECT value FROM json_each(:rids)) AND deleted_at IS NULL

-- name: search.rids
-- From ids to the keys of the index.
SELECT rid, id FROM records WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: events.latest
-- The last event of the file, whosever it is: of one workspace it takes a look at those of all others.
SELECT coalesce(max(seq), 0) AS seq FROM events

-- name: words.check
-- Fails when the words and the living rows differ; PRAGMA integrity_check does not see that.
INSERT INTO records_fts(records_fts, rank) VALUES ('integrity-check', 1)

-- name: words.optimize
-- Rewrite the index without what was deleted; secure-delete of FTS5 would do that at once, 17 times slower.
INSERT INTO records_fts(records_fts) VALUES ('optimize')

-- name: words.rebuild
-- Rebuild the index from the living rows.
INSERT INTO records_fts(records_fts) VALUES ('rebuild')
