-- name: tokens.add
-- Add a token, unless another one has its name; the registry stores only its hash.
INSERT INTO tokens (id, name, hash, level, tools, workspace, created_at, expires_at)
VALUES (:id, :name, :hash, :level, :tools, :project, :now, :until) ON CONFLICT (name) DO NOTHING

-- name: tokens.by_id
-- A token, by id.
SELECT id, name, hash, level, tools, workspace, created_at, expires_at FROM tokens WHERE id = :id

-- name: tokens.all
-- Every token, the oldest first.
SELECT id, name, hash, level, tools, workspace, created_at, expires_at FROM tokens ORDER BY created_at, id

-- name: tokens.some
-- Whether there is any token.
SELECT 1 AS yes FROM tokens LIMIT 1

-- name: tokens.remove
-- Revoke a token.
DELETE FROM tokens WHERE id = :id
