-- name: search.marks
-- The last record, change of words, vector and removal of vectors in all workspaces of the file, and the oldest change
-- and removal still known; whether there are other workspaces (if not, a search need not distinguish them, which
-- halves the time); and whether anything belongs to a single session.
SELECT coalesce(max(CASE WHEN name = 'records' THEN seq END), 0) AS records,
  coalesce(max(CASE WHEN name = 'word_changes' THEN seq END), 0) AS changes,
  coalesce((SELECT min(seq) FROM word_changes), 0) AS oldest_change,
  coalesce(max(CASE WHEN name = 'embeddings' THEN seq END), 0) AS vectors,
  coalesce(max(CASE WHEN name = 'embedding_tombstones' THEN seq END), 0) AS removals,
  coalesce((SELECT min(seq) FROM embedding_tombstones),
    max(CASE WHEN name = 'embedding_tombstones' THEN seq END) + 1, 0) AS oldest_removal,
  EXISTS (SELECT 1 FROM records WHERE workspace_id < :workspace)
    OR EXISTS (SELECT 1 FROM records WHERE workspace_id > :workspace) AS shared,
  EXISTS (SELECT 1 FROM records WHERE workspace_id = :workspace AND scope <> '') AS volatile
FROM sqlite_sequence

-- name: search.words
-- The best matches by words. bm25 is written out because ORDER BY rank is slower; scope_tokens has no weight.
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
  AND (:after = '' OR r.created_at >= :after) AND (:before = '' OR r.created_at < :before)
ORDER BY bm25(records_fts, 0, :title, :type, :body, :tag) LIMIT :limit

-- name: search.admitted
-- The first of some records that may be found, as two JSON lists, which are faster than rows. json_each yields them in
-- order; sorting would take half of the time.
SELECT json_group_array(rid) AS rids, json_group_array(id) AS ids FROM (
  SELECT r.rid, r.id FROM json_each(:rids) wanted CROSS JOIN records r ON r.rid = wanted.value
  WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND (r.scope = '' OR r.scope = :session)
    AND (:shelf = '' OR (r.kind = 'memory' AND r.name IS NOT NULL
      AND (:shelf = 'all' OR (:shelf = 'session') = (r.scope <> ''))))
    AND (:after = '' OR r.created_at >= :after) AND (:before = '' OR r.created_at < :before)
  LIMIT :limit)

-- name: search.tagged
-- The records that have ALL tags, as one JSON list: reading rows would take longer than the search.
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

-- name: search.shelf
-- The memories with a key, as one JSON list: :shelf is `session`, `vault` or `all`.
SELECT json_group_array(rid) AS rids FROM records
WHERE workspace_id = :workspace AND kind = 'memory' AND name IS NOT NULL AND deleted_at IS NULL
  AND (scope = '' OR scope = :session) AND (:shelf = 'all' OR (:shelf = 'session') = (scope <> ''))

-- name: search.spanned
-- The records created in a span of time, as one JSON list.
SELECT json_group_array(rid) AS rids FROM records
WHERE workspace_id = :workspace AND deleted_at IS NULL AND created_at >= :after
  AND (:before = '' OR created_at < :before)

-- name: search.among
-- Some records, as one JSON list.
SELECT json_group_array(rid) AS rids FROM records
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:among))

-- name: search.observations
-- The observations of an entity, as one JSON list.
SELECT json_group_array(r.rid) AS rids
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id = :entity AND r.deleted_at IS NULL

-- name: search.hidden
-- Volatile records of other sessions, as one JSON list.
SELECT json_group_array(rid) AS rids FROM records
WHERE scope <> '' AND scope <> :session AND workspace_id = :workspace AND deleted_at IS NULL

-- name: search.ids
-- The ids of index keys.
SELECT rid, id FROM records WHERE rid IN (SELECT value FROM json_each(:rids)) AND deleted_at IS NULL

-- name: search.rids
-- The index keys of ids, as one JSON object.
SELECT json_group_object(id, rid) AS rids FROM records WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: events.latest
-- The last event of the file, in any workspace: for a single one the events of all others would be read.
SELECT coalesce(max(seq), 0) AS number FROM events

-- name: words.changed
-- The first record that was changed after a given change.
SELECT min(rid) AS number FROM word_changes WHERE seq > :seq

-- name: words.parts
-- The records that match each of :terms, from a rid on, as one JSON list; each number has the rid and, in its lower
-- half, what the term adds to BM25. In descending order: FTS5 would search for the first one from the beginning.
SELECT (
  SELECT json_group_array(part) FROM (
    SELECT (f.rowid << 32) | CAST(-:scale * bm25(records_fts, 0, :title, :type, :body, :tag) AS INTEGER) AS part
    FROM records_fts f WHERE f.records_fts MATCH t.value ->> 0 AND f.rowid >= t.value ->> 1
    ORDER BY f.rowid DESC LIMIT -1)) AS parts
FROM json_each(:terms) t ORDER BY t.key

-- name: words.check
-- Fail if the words and the living rows differ, which PRAGMA integrity_check does not detect.
INSERT INTO records_fts(records_fts, rank) VALUES ('integrity-check', 1)

-- name: words.optimize
-- Rewrite the index without deleted rows; FTS5's secure-delete would do that immediately, but is 17 times slower.
INSERT INTO records_fts(records_fts) VALUES ('optimize')

-- name: words.rebuild
-- Rebuild the index from the living rows.
INSERT INTO records_fts(records_fts) VALUES ('rebuild')
