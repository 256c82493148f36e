-- name: leases.take
-- Whoever finds it free, over, or his own has it until :until.
INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :until)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at < :now

-- name: leases.release
-- He needs it no more.
DELETE FROM leases WHERE name = :name AND holder = :holder
