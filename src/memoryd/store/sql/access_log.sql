-- name: access_log.add
-- Add an entry: a client was admitted, someone was refused, or a right changed.
INSERT INTO access_log (id, at, act, subject, client, detail) VALUES (:id, :now, :act, :subject, :client, :detail)

-- name: access_log.last
-- The newest entries, the newest first.
SELECT at, act, subject, client, detail FROM access_log ORDER BY at DESC, id LIMIT :limit
