-- name: clients.by_id
-- A registered client, by id.
SELECT id, name, secret, method, redirect_uris, created_at FROM oauth_clients WHERE id = :id

-- name: clients.add
-- Register a client.
INSERT INTO oauth_clients (id, name, secret, method, redirect_uris, created_at, used_at)
VALUES (:id, :name, :secret, :method, :redirect_uris, :now, '')

-- name: clients.use
-- Note that a person has admitted a client.
UPDATE oauth_clients SET used_at = :now WHERE id = :id

-- name: clients.make_room
-- Delete clients that were never admitted, except the newest :most.
DELETE FROM oauth_clients WHERE id IN (
  SELECT id FROM oauth_clients WHERE used_at = '' ORDER BY created_at, id LIMIT (
    SELECT CASE WHEN count(*) > :most THEN count(*) - :most ELSE 0 END FROM oauth_clients WHERE used_at = ''))

-- name: clients.tidy
-- Delete the clients that registered before :before and were never admitted, and those last admitted before :last.
DELETE FROM oauth_clients
WHERE (used_at = '' AND created_at < :before) OR (used_at <> '' AND used_at < :last
  AND id NOT IN (SELECT client FROM logins))
