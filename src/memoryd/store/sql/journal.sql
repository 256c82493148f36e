-- name: journal.known
-- The record with an id, even if it was deleted.
SELECT body, session_id, deleted_at FROM records WHERE workspace_id = :workspace AND id = :id

-- name: journal.add
-- Add where the text of an interaction is cut into its three parts.
INSERT INTO interaction_details (workspace_id, id, thought_at, response_at)
VALUES (:workspace, :id, :thought_at, :response_at)

-- name: journal.session
-- The interactions of a session in the order of time.
SELECT r.id, r.session_id, r.created_at, r.body, d.thought_at, d.response_at FROM records r
JOIN interaction_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.session_id = :session AND r.kind = 'interaction' AND r.deleted_at IS NULL
ORDER BY r.created_at, r.id LIMIT :limit OFFSET :offset

-- name: journal.number
-- The number of interactions of a session.
SELECT count(*) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.session_id = :session AND r.kind = 'interaction' AND r.deleted_at IS NULL

-- name: journal.some
-- The ids among some that belong to an interaction, or to one that was deleted.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'interaction' AND r.deleted_at IS NULL
  AND r.id IN (SELECT value FROM json_each(:ids))
UNION
SELECT a.id FROM acts a
WHERE a.workspace_id = :workspace AND a.operation IN ('delete_interaction', 'purge_interaction')
  AND a.id IN (SELECT value FROM json_each(:ids))

-- name: journal.cuts
-- Where the texts of some interactions are cut.
SELECT id, thought_at, response_at FROM interaction_details
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: journal.page
-- The interactions that follow an id.
SELECT r.id, r.session_id, r.created_at, r.body, d.thought_at, d.response_at FROM interaction_details d
JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.id > :after AND r.deleted_at IS NULL
ORDER BY d.id LIMIT :limit

-- name: journal.ids
-- The ids of a session's interactions.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.session_id = :session AND r.kind = 'interaction' AND r.deleted_at IS NULL

-- name: journal.unsummarized
-- Sessions that have no summary, or more interactions than their summary counted, or later ones: some may be removed since.
SELECT r.session_id AS id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'interaction' AND r.deleted_at IS NULL AND r.session_id IS NOT NULL
GROUP BY r.session_id
HAVING count(*) > coalesce((
  SELECT max(d.memory_count) FROM records s JOIN summary_details d ON d.workspace_id = s.workspace_id AND d.id = s.id
  WHERE s.workspace_id = :workspace AND s.kind = 'summary' AND s.session_id = r.session_id AND s.deleted_at IS NULL), 0)
  OR max(r.created_at) > (
    SELECT max(s.created_at) FROM records s
    WHERE s.workspace_id = :workspace AND s.kind = 'summary' AND s.session_id = r.session_id AND s.deleted_at IS NULL)
ORDER BY min(r.created_at), r.session_id

-- name: journal.note_erased
-- Add the events of all records of a kind that are about to be erased.
INSERT INTO events (workspace_id, at, operation, subject)
SELECT r.workspace_id, :now, 'delete_' || r.kind, r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = :kind AND r.deleted_at IS NULL

-- name: journal.erase
-- Permanently delete all records of a kind, which an import replaces.
DELETE FROM records WHERE workspace_id = :workspace AND kind = :kind

-- name: summaries.of_session
-- The summary of a session.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'summary' AND r.session_id = :session AND r.deleted_at IS NULL

-- name: summaries.add
-- Add the details of a summary.
INSERT INTO summary_details (workspace_id, id, memory_count, quality, productivity, impact, complexity, technologies)
VALUES (:workspace, :id, :memory_count, :quality, :productivity, :impact, :complexity, :technologies)

-- name: summaries.newest
-- Summaries, the newest first; '' is any category.
SELECT r.id, r.session_id, r.created_at, r.name AS title, r.body AS summary, r.type AS category, d.memory_count,
  d.quality, d.productivity, d.impact, d.complexity, d.technologies FROM records r
JOIN summary_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.kind = 'summary' AND r.deleted_at IS NULL
  AND (:category = '' OR r.type = :category)
ORDER BY r.created_at DESC, r.id LIMIT :limit OFFSET :offset

-- name: summaries.number
-- The number of summaries of a category; '' is any category.
SELECT count(*) AS number FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'summary' AND r.deleted_at IS NULL
  AND (:category = '' OR r.type = :category)

-- name: summaries.ids
-- The ids of the summaries of a category.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = 'summary' AND r.deleted_at IS NULL
  AND (:category = '' OR r.type = :category)

-- name: summaries.some
-- Some summaries, by id.
SELECT r.id, r.session_id, r.created_at, r.name AS title, r.body AS summary, r.type AS category, d.memory_count,
  d.quality, d.productivity, d.impact, d.complexity, d.technologies FROM records r
JOIN summary_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.id IN (SELECT value FROM json_each(:ids))

-- name: summaries.page
-- The summaries that follow an id.
SELECT r.id, r.session_id, r.created_at, r.name AS title, r.body AS summary, r.type AS category, d.memory_count,
  d.quality, d.productivity, d.impact, d.complexity, d.technologies FROM summary_details d
JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.id > :after AND r.deleted_at IS NULL
ORDER BY d.id LIMIT :limit
