-- name: clients.by_id
-- A client that registered itself.
SELECT id, name, secret, method, redirect_uris, created_at FROM oauth_clients WHERE id = :id

-- name: clients.add
-- A client registers itself.
INSERT INTO oauth_clients (id, name, secret, method, redirect_uris, created_at, used_at)
VALUES (:id, :name, :secret, :method, :redirect_uris, :now, '')

-- name: clients.use
-- Somebody lets a client in.
UPDATE oauth_clients SET used_at = :now WHERE id = :id

-- name: clients.make_room
-- Forget the oldest clients that were never let in, but for :most.
DELETE FROM oauth_clients WHERE id IN (
  SELECT id FROM oauth_clients WHERE used_at = '' ORDER BY created_at, id LIMIT (
    SELECT CASE WHEN count(*) > :most THEN count(*) - :most ELSE 0 END FROM oauth_clients WHERE used_at = ''))

-- name: clients.tidy
-- Forget the clients that registered before :before and were never let in, and those that were last let in before :last.
DELETE FROM oauth_clients
WHERE (used_at = '' AND created_at < :before) OR (used_at <> '' AND used_at < :last
  AND id NOT IN (SELECT client FROM logins))
