-- name: events.add
-- Add an event and its subject; events outlive their subjects.
INSERT INTO events (workspace_id, at, operation, subject) VALUES (:workspace, :now, :operation, :subject)

-- name: events.of_records
-- Add events for some records: `create_memory`, `delete_observation`.
INSERT INTO events (workspace_id, at, operation, subject)
SELECT r.workspace_id, :now, :verb || '_' || r.kind, r.id FROM json_each(:ids) wanted
JOIN records r ON r.workspace_id = :workspace AND r.id = wanted.value

-- name: events.before
-- The latest event before a time.
SELECT seq FROM events WHERE workspace_id = :workspace AND at < :time ORDER BY at DESC, seq DESC LIMIT 1

-- name: events.there
-- Whether an operation has happened to a subject at a time.
SELECT 1 AS yes FROM events
WHERE workspace_id = :workspace AND at = :now AND operation = :operation AND subject = :subject LIMIT 1

-- name: events.remove
-- Delete the events of an operation on a subject at a time.
DELETE FROM events WHERE workspace_id = :workspace AND at = :now AND operation = :operation AND subject = :subject

-- name: events.subjects
-- The subjects of the events after a given one, and the entities whose texts name them: the ends of a relation, and the
-- neighbours of a renamed entity.
WITH news AS (SELECT subject FROM events WHERE workspace_id = :workspace AND seq > :after ORDER BY seq LIMIT :limit)
SELECT subject FROM news
UNION SELECT x.from_entity FROM news JOIN relations x ON x.workspace_id = :workspace AND x.id = news.subject
UNION SELECT x.to_entity FROM news JOIN relations x ON x.workspace_id = :workspace AND x.id = news.subject
UNION SELECT x.to_entity FROM news JOIN relations x ON x.workspace_id = :workspace AND x.from_entity = news.subject
UNION SELECT x.from_entity FROM news JOIN relations x ON x.workspace_id = :workspace AND x.to_entity = news.subject
LIMIT :limit
