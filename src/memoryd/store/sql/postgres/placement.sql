-- name: placement.lock
-- One writer at a time in a workspace, on whichever machine: so no update is lost, and no transaction waits in a circle.
SELECT pg_advisory_xact_lock(hashtextextended(:workspace, 0)) IS NULL AS locked
