-- name: placement.lock
-- One writer at a time in a workspace, on whichever machine: so no update is lost, and no transaction waits in a circle.
-- The next one need not wait for the disk: see `placement.flush`. Listeners are notified with the commit.
SELECT pg_advisory_xact_lock(hashtextextended(:workspace, 0)) IS NULL AS locked,
  set_config('synchronous_commit', 'off', true) AS unflushed, pg_notify('memoryd', :workspace) IS NULL AS notified

-- name: placement.listen
-- From now on hear of every commit that wrote, see `placement.lock`.
LISTEN memoryd

-- name: placement.flush
-- A transaction of its own whose commit waits, as the server is set to, for the log up to here: also for all that was
-- committed before. Who waits at the same time waits for one disk write. It says something to the log, for a transaction
-- that wrote nothing waits for nothing.
SELECT pg_logical_emit_message(true, 'memoryd', '') AS place
