-- name: leases.take
-- Take a lease until :until if it is free, expired, the holder's own, or taken by a wrong clock.
INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :until)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at < :now OR leases.expires_at > :astray

-- name: leases.release
-- Release a lease.
DELETE FROM leases WHERE name = :name AND holder = :holder

-- name: leases.noted
-- The time that was noted under a name.
SELECT expires_at FROM leases WHERE name = :name

-- name: leases.note
-- Note the present time under a name, which no one holds.
INSERT INTO leases (name, holder, expires_at) VALUES (:name, '', :now)
ON CONFLICT (name) DO UPDATE SET expires_at = excluded.expires_at
