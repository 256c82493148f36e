-- name: placement.lock
-- Lock a workspace, on any machine, for one writer at a time: no update is lost, and no deadlock can occur.
-- The next writer need not wait for the disk: see `placement.flush`. Listeners are notified with the commit.
SELECT pg_advisory_xact_lock(hashtextextended(:workspace, 0)) IS NULL AS locked,
  set_config('synchronous_commit', 'off', true) AS unflushed, pg_notify('memoryd', :workspace) IS NULL AS notified

-- name: placement.listen
-- Listen for every commit that wrote, see `placement.lock`.
LISTEN memoryd

-- name: placement.flush
-- A separate transaction whose commit waits, as configured on the server, for the log up to here, including all earlier
-- commits. Concurrent waiters share one disk write. It writes something to the log, because a transaction that wrote
-- nothing would not wait. Return the place in the log, whether its commit waits for the disk, and for a standby's.
SELECT (pg_logical_emit_message(true, 'memoryd', '') - '0/0')::bigint AS place,
  current_setting('synchronous_commit') <> 'off' AS waited,
  current_setting('synchronous_commit') NOT IN ('off', 'local') AND current_setting('synchronous_standby_names') <> ''
    AS replicated
