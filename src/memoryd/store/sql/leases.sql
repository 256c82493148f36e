-- name: leases.take
-- Take a lease until :until if it is free, expired, the holder's own, or taken by a clock that was wrong.
INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, :until)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at < :now OR leases.expires_at > :astray

-- name: leases.release
-- Release a lease.
DELETE FROM leases WHERE name = :name AND holder = :holder
