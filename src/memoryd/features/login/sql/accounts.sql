-- name: accounts.by_name
-- A person with a password.
SELECT name, hash, level, workspace, created_at FROM accounts WHERE name = :name

-- name: accounts.all
-- Every person with a password.
SELECT name, hash, level, workspace, created_at FROM accounts ORDER BY name

-- name: accounts.set
-- Add a person, or change a password.
INSERT INTO accounts (name, hash, level, workspace, created_at) VALUES (:name, :hash, :level, :project, :now)
ON CONFLICT (name) DO UPDATE SET hash = excluded.hash, level = excluded.level, workspace = excluded.workspace

-- name: accounts.remove
-- Remove a person with a password.
DELETE FROM accounts WHERE name = :name
