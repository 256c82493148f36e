-- name: accounts.by_name
-- A person with a password.
SELECT name, hash, level, workspace, created_at FROM accounts WHERE name = :name

-- name: accounts.all
-- Everybody with a password.
SELECT name, hash, level, workspace, created_at FROM accounts ORDER BY name

-- name: accounts.set
-- A new person, or another password.
INSERT INTO accounts (name, hash, level, workspace, created_at) VALUES (:name, :hash, :level, :project, :now)
ON CONFLICT (name) DO UPDATE SET hash = excluded.hash, level = excluded.level, workspace = excluded.workspace

-- name: accounts.remove
-- A person loses the password.
DELETE FROM accounts WHERE name = :name
