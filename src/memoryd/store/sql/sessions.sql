-- name: sessions.active
-- The project that a session chose, unless it was archived or deleted since.
SELECT p.id, p.name, p.description, p.db_path, p.status, p.created_at, p.updated_at
FROM sessions s JOIN projects p ON p.id = s.active_project AND p.status = 'active'
WHERE s.principal = :principal AND s.id = :session

-- name: sessions.switch
-- A session chooses a project.
INSERT INTO sessions (principal, id, active_project) VALUES (:principal, :session, :project)
ON CONFLICT (principal, id) DO UPDATE SET active_project = excluded.active_project

-- name: sessions.leave
-- No session has this project active any more.
UPDATE sessions SET active_project = NULL WHERE active_project = :project

-- name: sessions.end
-- A session is over.
DELETE FROM sessions WHERE principal = :principal AND id = :session

-- name: sessions.hold
-- A process says that a session goes on.
INSERT INTO session_holders (principal, id, holder, expires_at) VALUES (:principal, :session, :holder, :until)
ON CONFLICT (principal, id, holder) DO UPDATE SET expires_at = excluded.expires_at

-- name: sessions.release
-- As far as this process is concerned it is over. The row goes when the session's memories are gone: whoever finds it
-- until then sees to them.
UPDATE session_holders SET expires_at = '' WHERE principal = :principal AND id = :session AND holder = :holder

-- name: sessions.held
-- Whether anybody still holds a session.
SELECT 1 AS yes FROM session_holders
WHERE principal = :principal AND id = :session AND expires_at >= :now LIMIT 1

-- name: sessions.expired
-- The sessions of holders who are gone.
SELECT DISTINCT principal, id FROM session_holders WHERE expires_at < :now

-- name: sessions.forget
-- Those holders.
DELETE FROM session_holders WHERE principal = :principal AND id = :session AND expires_at < :now
