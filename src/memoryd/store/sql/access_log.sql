-- name: access_log.add
-- Somebody was let in or refused, or a right changed.
INSERT INTO access_log (id, at, act, subject, client, detail) VALUES (:id, :now, :act, :subject, :client, :detail)

-- name: access_log.last
-- The latest entries, the latest first.
SELECT id, at, act, subject, client, detail FROM access_log ORDER BY at DESC, id LIMIT :limit

-- name: access_log.tidy
-- Forget what was noted before :before.
DELETE FROM access_log WHERE at < :before

-- name: access_log.forget_clients
-- Forget that clients registered which are forgotten themselves: none of them was let in within the time kept here.
DELETE FROM access_log WHERE act = 'client registered' AND detail NOT IN (SELECT id FROM oauth_clients)

-- name: access_log.forget_refused
-- Forget refused logins, but for the latest :most.
DELETE FROM access_log WHERE act = 'login refused' AND at <= (
  SELECT at FROM access_log WHERE act = 'login refused' ORDER BY at DESC LIMIT 1 OFFSET :most)
