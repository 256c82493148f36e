-- name: sessions.active
-- The project that a session chose, unless the project was archived or deleted since.
SELECT p.id, p.name, p.description, p.db_path, p.status, p.includes, p.created_at, p.updated_at
FROM sessions s JOIN projects p ON p.id = s.active_project AND p.status = 'active'
WHERE s.principal = '' AND s.id = :session

-- name: sessions.switch
-- Make a project the active one of a session.
INSERT INTO sessions (principal, id, active_project) VALUES ('', :session, :project)
ON CONFLICT (principal, id) DO UPDATE SET active_project = excluded.active_project

-- name: sessions.leave
-- Make a project inactive in all sessions.
UPDATE sessions SET active_project = NULL WHERE active_project = :project

-- name: sessions.end
-- End a session.
DELETE FROM sessions WHERE principal = '' AND id = :session

-- name: sessions.hold
-- Renew a process's hold on a session.
INSERT INTO session_holders (principal, id, holder, expires_at) VALUES ('', :session, :holder, :until)
ON CONFLICT (principal, id, holder) DO UPDATE SET expires_at = excluded.expires_at

-- name: sessions.release
-- End a process's hold on a session. The row is deleted after the session's memories: until then, any process that
-- finds it deletes them.
UPDATE session_holders SET expires_at = '' WHERE principal = '' AND id = :session AND holder = :holder

-- name: sessions.held
-- Whether any process still holds a session.
SELECT 1 AS yes FROM session_holders
WHERE principal = '' AND id = :session AND expires_at >= :now LIMIT 1

-- name: sessions.expired
-- The sessions whose holders have expired.
SELECT DISTINCT id FROM session_holders WHERE principal = '' AND expires_at < :now

-- name: sessions.forget
-- Delete expired holders.
DELETE FROM session_holders WHERE principal = '' AND id = :session AND expires_at < :now

-- name: sessions.astray
-- Whether a hold on a session lasts longer than any made by a correct clock, but not forever.
SELECT 1 AS yes FROM session_holders WHERE expires_at > :astray AND expires_at < :forever LIMIT 1

-- name: sessions.shorten
-- Limit these holds as if they were made now: living processes renew them.
UPDATE session_holders SET expires_at = :until WHERE expires_at > :astray AND expires_at < :forever
