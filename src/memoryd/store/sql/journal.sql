-- name: journal.exists
-- Whether an id is taken, also by what was deleted.
SELECT 1 AS yes FROM records WHERE workspace_id = :workspace AND id = :id

-- name: journal.add
-- Where the text of an interaction is cut into its three parts.
INSERT INTO interaction_details (workspace_id, id, thought_at, response_at)
VALUES (:workspace, :id, :thought_at, :response_at)

-- name: journal.session
-- The interactions of a session in the order of time.
SELECT r.id, r.session_id, r.created_at, r.body, d.thought_at, d.response_at FROM records r
JOIN interaction_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.session_id = :session AND r.kind = 'interaction' AND r.deleted_at IS NULL
ORDER BY r.created_at, r.id LIMIT :limit OFFSET :offset

-- name: journal.number
-- How many interactions a session has.
SELECT count(*) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.session_id = :session AND r.kind = 'interaction' AND r.deleted_at IS NULL

-- name: journal.cuts
-- Some interactions with where they are cut.
SELECT r.id, r.session_id, r.created_at, r.body, d.thought_at, d.response_at FROM records r
JOIN interaction_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.id IN (SELECT value FROM json_each(:ids))

-- name: journal.ids
-- The ids of a session's interactions.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.session_id = :session AND r.kind = 'interaction' AND r.deleted_at IS NULL

-- name: journal.pending
-- Sessions that have no summary, or more interactions than their summary counted.
SELECT r.session_id, count(*) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'interaction' AND r.deleted_at IS NULL AND r.session_id IS NOT NULL
GROUP BY r.session_id
HAVING count(*) > coalesce((
  SELECT max(d.memory_count) FROM records s JOIN summary_details d ON d.workspace_id = s.workspace_id AND d.id = s.id
  WHERE s.workspace_id = :workspace AND s.kind = 'summary' AND s.session_id = r.session_id AND s.deleted_at IS NULL), 0)
ORDER BY r.session_id

-- name: summaries.of_session
-- The summary of a session.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'summary' AND r.session_id = :session AND r.deleted_at IS NULL

-- name: summaries.add
-- What only summaries have.
INSERT INTO summary_details (workspace_id, id, memory_count, quality, productivity, impact, complexity, technologies)
VALUES (:workspace, :id, :memory_count, :quality, :productivity, :impact, :complexity, :technologies)

-- name: summaries.name
-- Another title and category.
UPDATE records SET name = :title, type = :category WHERE workspace_id = :workspace AND id = :id

-- name: summaries.change
-- And the rest.
UPDATE summary_details SET memory_count = :memory_count, quality = :quality, productivity = :productivity,
  impact = :impact, complexity = :complexity, technologies = :technologies
WHERE workspace_id = :workspace AND id = :id

-- name: summaries.page
-- Summaries, the newest first; '' is any category.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'summary' AND r.deleted_at IS NULL
  AND (:category = '' OR r.type = :category)
ORDER BY r.updated_at DESC, r.id LIMIT :limit OFFSET :offset

-- name: summaries.number
-- How many there are.
SELECT count(*) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'summary' AND r.deleted_at IS NULL
  AND (:category = '' OR r.type = :category)

-- name: summaries.ids
-- All of a category.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'summary' AND r.deleted_at IS NULL
  AND (:category = '' OR r.type = :category)

-- name: summaries.whole
-- Some of them with everything.
SELECT r.id, r.session_id, r.updated_at, r.name AS title, r.body AS summary, r.type AS category, d.memory_count,
  d.quality, d.productivity, d.impact, d.complexity, d.technologies FROM records r
JOIN summary_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.id IN (SELECT value FROM json_each(:ids))
