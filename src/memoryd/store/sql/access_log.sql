-- name: access_log.add
-- Somebody was let in or refused, or a right changed.
INSERT INTO access_log (id, at, act, subject, client, detail) VALUES (:id, :now, :act, :subject, :client, :detail)

-- name: access_log.last
-- The latest entries, the latest first.
SELECT id, at, act, subject, client, detail FROM access_log ORDER BY at DESC, id LIMIT :limit

-- name: access_log.tidy
-- Forget what was noted before :before.
DELETE FROM access_log WHERE at < :before
