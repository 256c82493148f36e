-- name: tokens.add
-- A new token; the registry knows its hash alone. Nothing where another one has its name.
INSERT INTO tokens (id, name, hash, level, tools, workspace, created_at, expires_at)
VALUES (:id, :name, :hash, :level, :tools, :project, :now, :until) ON CONFLICT (name) DO NOTHING

-- name: tokens.by_id
-- What a token allows.
SELECT id, name, hash, level, tools, workspace, created_at, expires_at FROM tokens WHERE id = :id

-- name: tokens.all
-- Every token, the oldest first.
SELECT id, name, hash, level, tools, workspace, created_at, expires_at FROM tokens ORDER BY created_at, id

-- name: tokens.some
-- Whether there is any.
SELECT 1 AS yes FROM tokens LIMIT 1

-- name: tokens.remove
-- Revoke a token.
DELETE FROM tokens WHERE id = :id
