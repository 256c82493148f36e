-- name: access_log.tidy
-- Delete the entries from before :before.
DELETE FROM access_log WHERE at < :before

-- name: access_log.forget_clients
-- Delete the registrations of clients that were deleted: none of them was admitted within the time kept here.
DELETE FROM access_log WHERE act = 'client registered' AND detail NOT IN (SELECT id FROM oauth_clients)

-- name: access_log.forget_refused
-- Delete refused logins, except the newest :most.
DELETE FROM access_log WHERE act = 'login refused' AND at <= (
  SELECT at FROM access_log WHERE act = 'login refused' ORDER BY at DESC LIMIT 1 OFFSET :most)
