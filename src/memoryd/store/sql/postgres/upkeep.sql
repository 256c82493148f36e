-- name: upkeep.session
-- Set, for the session of the process :pid, else for this transaction: how long the server waits for others, runs a
-- statement, and keeps a transaction whose process hangs or is gone. Also make a new plan each time: one from when a
-- table was empty would read a whole workspace for each row, and a generic one could use no index for a filter. JIT
-- compilation takes longer than it saves. Settings by the server, the role or the URL take precedence.
SELECT pg_backend_pid() AS pid, pg_backend_pid() <> :pid AS pooled,
  coalesce(nullif(extract(epoch FROM current_setting('statement_timeout')::interval)::double precision, 0), 120)
    AS seconds,
  (SELECT count(set_config(l.name, l.value, pg_backend_pid() <> :pid))
   FROM (VALUES ('lock_timeout', '30s', '0'), ('statement_timeout', '120s', '0'),
     ('idle_in_transaction_session_timeout', '300s', '0'),
     ('plan_cache_mode', 'force_custom_plan', 'auto'), ('jit', 'off', 'on')) l (name, value, instead)
   WHERE current_setting(l.name, true) = l.instead) AS set

-- name: upkeep.lineage
-- The history of the database that the server continues, where its log ends, and where its recovery ended, if it began
-- with one: that is how far a standby had come when it took over. A server in recovery has not begun its own timeline,
-- and may be behind.
SELECT s.system_identifier::text AS system, CASE
  WHEN pg_is_in_recovery() THEN greatest(c.timeline_id, r.min_recovery_end_timeline)
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer END AS timeline,
  CASE WHEN NOT pg_is_in_recovery() THEN (pg_current_wal_insert_lsn() - '0/0')::bigint END AS place,
  (pg_last_wal_replay_lsn() - '0/0')::bigint AS recovered
FROM pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r

-- name: upkeep.patience
-- Remove the time limit of this transaction.
SELECT set_config('statement_timeout', '0', true)

-- name: upkeep.queue
-- Take the lock for migrating the schema; it ends with the transaction.
SELECT pg_advisory_xact_lock(1835363684) IS NULL AS locked

-- name: upkeep.known
-- Whether memoryd's schema exists: other programs may have a table with that name, too. Without to_regclass, whose
-- cache may not yet have what another process, for which this one has just waited, has created.
SELECT EXISTS (SELECT FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'version'
  WHERE c.relname = 'schema_version' AND c.relnatts = 1 AND a.atttypid = 'integer'::regtype
    AND pg_table_is_visible(c.oid)) AS known

-- name: upkeep.version
-- The version of the schema.
SELECT coalesce(max(version), 0) AS version FROM schema_version

-- name: upkeep.extensions
-- The extensions that the schema needs: the available version, the installed one, and whether its names are found.
SELECT a.name, a.default_version AS available, a.installed_version AS installed, n.nspname AS place,
  current_user AS role, n.nspname = ANY (current_schemas(true)) AS in_path
FROM pg_available_extensions a LEFT JOIN (pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace)
  ON e.extname = a.name
WHERE name IN ('vector', 'btree_gin', 'unaccent')

-- name: upkeep.encoding
-- The encoding of the database.
SELECT current_setting('server_encoding') AS encoding

-- name: upkeep.server
-- The server: its version, address and state, and the rights of this role.
SELECT current_setting('server_version') AS server, current_user AS role, current_schema() AS place,
  (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS pgvector,
  pg_database_size(current_database()) AS size,
  current_setting('transaction_read_only') = 'on' AS read_only,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
  (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'schema_version' AND pg_table_is_visible(oid)
     AND NOT pg_has_role(relowner, 'USAGE')) AS owner,
  coalesce((SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()), 0) AS broken_pages

-- name: upkeep.parts
-- The names of indexes, triggers, keys and text search configurations, and whether they are validated for old rows.
SELECT relname AS name, true AS valid FROM pg_class WHERE relkind IN ('i', 'I') AND pg_table_is_visible(oid)
UNION ALL SELECT tgname, true FROM pg_trigger WHERE pg_table_is_visible(tgrelid)
UNION ALL SELECT conname, convalidated FROM pg_constraint WHERE contype <> 'c' AND pg_table_is_visible(conrelid)
UNION ALL SELECT cfgname, true FROM pg_ts_config WHERE pg_ts_config_is_visible(oid)

-- name: upkeep.disabled
-- Tables with disabled triggers, and whether keys are among these.
SELECT coalesce(pg_partition_root(tgrelid), tgrelid)::regclass::text AS name, bool_or(tgisinternal) AS keys
FROM pg_trigger WHERE tgenabled IN ('D', 'R') AND pg_table_is_visible(tgrelid) GROUP BY 1 ORDER BY 1

-- name: upkeep.misled
-- Functions that look up names outside their own schema, because that was moved or renamed.
SELECT p.oid::regprocedure::text AS name, p.pronamespace::regnamespace::text AS place FROM pg_proc p
WHERE p.proname IN (
    'words_of', 'indexed', 'forget_vectors', 'note_word_change', 'related_of', 'relate', 'relate_ends', 'relate_neighbours')
  AND pg_function_is_visible(p.oid)
  AND format('search_path=%s, pg_temp', p.pronamespace::regnamespace) <> ALL (coalesce(p.proconfig, '{}'))
ORDER BY 1

-- name: upkeep.collation
-- The collation version with which the database was created, if the system has another one now.
SELECT datname AS name, datcollversion AS made, pg_database_collation_actual_version(oid) AS now FROM pg_database
WHERE datname = current_database() AND datcollversion <> pg_database_collation_actual_version(oid)

-- name: upkeep.rights
-- The rights on each table that this role lacks, and whether policies hide rows of the table.
SELECT c.relname AS name, row_security_active(c.oid) AS hidden,
  ARRAY(SELECT r FROM unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) r WHERE NOT has_table_privilege(c.oid, r)) AS lacks
FROM pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_table_is_visible(c.oid) ORDER BY 1

-- name: upkeep.invalid
-- Invalid indexes: building them failed, and no process is building them now.
SELECT n.nspname AS place, c.relname AS name FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT i.indisvalid AND n.nspname = current_schema()
  AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)
ORDER BY c.relname

-- name: upkeep.damaged
-- The vectors of a workspace that no search can use: with another dimension than stated or than their model's (:dims),
-- or not of unit length; not those that callers supplied.
SELECT e.id, e.perspective, e.model, e.chunk FROM embeddings e
LEFT JOIN jsonb_each_text(:dims::jsonb) d (model, dim) ON d.model = e.model
WHERE e.workspace_id = :workspace AND e.perspective <> 'client' AND (
  vector_dims(e.vector) <> e.dim OR e.dim <> coalesce(d.dim::integer, e.dim) OR abs(l2_norm(e.vector) - 1) > :unit)

-- name: upkeep.drop
-- Drop the vectors of a record that has a damaged one, so that it is embedded again.
DELETE FROM embeddings
WHERE workspace_id = :workspace AND id = :id AND perspective = :perspective AND model = :model

-- name: upkeep.vacuum
-- Free the space of deleted rows, in the tables of texts and of what is derived from them.
VACUUM records, versions, embeddings

-- name: words.optimize
-- Do nothing: the next vacuum removes deleted rows from the index of words.
SELECT 1 WHERE false
