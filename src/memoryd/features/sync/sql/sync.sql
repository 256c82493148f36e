-- name: sync.state
-- The commit that a workspace was last merged with, and its last event that was written to a commit.
SELECT base, seq FROM synced WHERE workspace_id = :workspace

-- name: sync.note
-- Note the commit that a workspace was merged with, and the last event that is in it.
INSERT INTO synced (workspace_id, base, seq) VALUES (:workspace, :base, :seq)
ON CONFLICT (workspace_id) DO UPDATE SET base = excluded.base, seq = excluded.seq

-- name: sync.latest
-- The last event.
SELECT seq FROM events WHERE workspace_id = :workspace ORDER BY seq DESC LIMIT 1

-- name: sync.subjects
-- The subjects of the events after a given one.
SELECT DISTINCT subject FROM events WHERE workspace_id = :workspace AND seq > :after AND subject IS NOT NULL

-- name: sync.places
-- What some ids are, and the entity or session whose file has them.
SELECT r.id, r.kind, coalesce(o.entity_id, '') AS entity_id, coalesce(r.session_id, '') AS session_id
FROM records r LEFT JOIN observation_details o ON o.workspace_id = r.workspace_id AND o.id = r.id
WHERE r.workspace_id = :workspace AND r.id IN (SELECT value FROM json_each(:ids))
UNION
SELECT x.id, 'relation', x.from_entity, '' FROM relations x
WHERE x.workspace_id = :workspace AND x.id IN (SELECT value FROM json_each(:ids))

-- name: sync.around
-- Whose files name some records: what they replaced, what replaced them, and the entities at both ends of relations.
SELECT d.id FROM memory_details d
WHERE d.workspace_id = :workspace AND d.superseded_by IN (SELECT value FROM json_each(:ids))
UNION
SELECT d.superseded_by FROM memory_details d
WHERE d.workspace_id = :workspace AND d.superseded_by IS NOT NULL AND d.id IN (SELECT value FROM json_each(:ids))
UNION
SELECT x.from_entity FROM relations x
WHERE x.workspace_id = :workspace AND x.to_entity IN (SELECT value FROM json_each(:ids))
UNION
SELECT x.to_entity FROM relations x
WHERE x.workspace_id = :workspace AND x.id IN (SELECT value FROM json_each(:ids))

-- name: sync.all
-- Every record and its session.
SELECT r.id, r.kind, coalesce(r.session_id, '') AS session_id FROM records r
WHERE r.workspace_id = :workspace AND r.scope = '' AND (r.deleted_at IS NULL OR r.kind = 'memory')
  AND r.kind <> 'observation'

-- name: sync.standing
-- Those of some deleted memories for which, at the end of their successors, a living one stands.
WITH RECURSIVE later (id, successor) AS (
  SELECT d.id, d.superseded_by FROM memory_details d
  WHERE d.workspace_id = :workspace AND d.id IN (SELECT value FROM json_each(:ids))
  UNION
  SELECT l.id, d.superseded_by FROM later l
  JOIN memory_details d ON d.workspace_id = :workspace AND d.id = l.successor
  JOIN records r ON r.workspace_id = :workspace AND r.id = d.id AND r.scope = '' AND r.deleted_at IS NOT NULL
)
SELECT DISTINCT l.id FROM later l JOIN records r ON r.workspace_id = :workspace AND r.id = l.successor
WHERE r.scope = '' AND r.deleted_at IS NULL

-- name: sync.turns
-- The living turns and summaries of some sessions.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.session_id IN (SELECT value FROM json_each(:sessions))
  AND r.session_id IS NOT NULL AND r.deleted_at IS NULL AND r.kind IN ('interaction', 'summary') AND r.scope = ''

-- name: sync.turns_alone
-- The living turns and summaries without a session.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.session_id IS NULL AND r.deleted_at IS NULL
  AND r.kind IN ('interaction', 'summary') AND r.scope = ''

-- name: sync.merged
-- The entities that became others, and are gone.
SELECT a.id, a.other FROM acts a
WHERE a.workspace_id = :workspace AND a.operation = 'delete_entity' AND a.other <> '' AND NOT EXISTS (
  SELECT 1 FROM records r WHERE r.workspace_id = a.workspace_id AND r.id = a.id AND r.deleted_at IS NULL)

-- name: sync.unnamed
-- Take the names of some records, which are about to get others.
UPDATE records SET name = NULL WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: sync.named
-- Give a deleted record its name again.
UPDATE records SET name = :name WHERE workspace_id = :workspace AND id = :id AND deleted_at IS NOT NULL

-- name: sync.put_record
-- Add a record, or make it what it is elsewhere.
INSERT INTO records (
  workspace_id, id, kind, name, type, body, tags, scope, session_id, client, tool, created_at, updated_at, deleted_at)
VALUES (:workspace, :id, :kind, :name, :type, :body, :tags, '', :session_id, :client, :tool, :created_at, :updated_at,
  :deleted_at)
ON CONFLICT (workspace_id, id) DO UPDATE SET name = excluded.name, type = excluded.type, body = excluded.body,
  tags = excluded.tags, session_id = excluded.session_id, client = excluded.client, tool = excluded.tool,
  created_at = excluded.created_at, updated_at = excluded.updated_at, deleted_at = excluded.deleted_at

-- name: sync.put_memory
-- The details of a memory as elsewhere; its recalls are its own here.
INSERT INTO memory_details (
  workspace_id, id, fingerprint, importance, consolidated, superseded_by, ending, reason)
VALUES (:workspace, :id, :fingerprint, :importance, :consolidated, :superseded_by, :ending, :reason)
ON CONFLICT (workspace_id, id) DO UPDATE SET importance = excluded.importance,
  consolidated = CASE WHEN memory_details.fingerprint = excluded.fingerprint OR memory_details.consolidated = 2
    THEN memory_details.consolidated ELSE excluded.consolidated END,
  gist = CASE WHEN memory_details.fingerprint = excluded.fingerprint THEN memory_details.gist ELSE '' END,
  fingerprint = excluded.fingerprint, superseded_by = excluded.superseded_by, ending = excluded.ending,
  reason = excluded.reason

-- name: sync.put_entity
-- The details of an entity as elsewhere. The next ordinal never goes back.
INSERT INTO entity_details (workspace_id, id, summary_updated_at, next_ordinal)
VALUES (:workspace, :id, :summary_updated_at, :next_ordinal)
ON CONFLICT (workspace_id, id) DO UPDATE SET summary_updated_at = excluded.summary_updated_at,
  next_ordinal = CASE WHEN entity_details.next_ordinal > excluded.next_ordinal THEN entity_details.next_ordinal
    ELSE excluded.next_ordinal END

-- name: sync.put_observation
-- The place of an observation.
INSERT INTO observation_details (workspace_id, entity_id, ordinal, id)
VALUES (:workspace, :entity_id, :ordinal, :id)
ON CONFLICT (workspace_id, id) DO UPDATE SET entity_id = excluded.entity_id, ordinal = excluded.ordinal

-- name: sync.make_room
-- Move the observations that hold some ordinals of an entity to ordinals above all others.
UPDATE observation_details SET ordinal = :above + ordinal
WHERE workspace_id = :workspace AND entity_id = :entity_id
  AND ordinal IN (SELECT CAST(value AS INTEGER) FROM json_each(:ordinals))

-- name: sync.put_interaction
-- Where the text of a turn is cut.
INSERT INTO interaction_details (workspace_id, id, thought_at, response_at)
VALUES (:workspace, :id, :thought_at, :response_at)
ON CONFLICT (workspace_id, id) DO UPDATE SET thought_at = excluded.thought_at, response_at = excluded.response_at

-- name: sync.put_summary
-- The details of a session's summary.
INSERT INTO summary_details (
  workspace_id, id, memory_count, quality, productivity, impact, complexity, technologies)
VALUES (:workspace, :id, :memory_count, :quality, :productivity, :impact, :complexity, :technologies)
ON CONFLICT (workspace_id, id) DO UPDATE SET memory_count = excluded.memory_count, quality = excluded.quality,
  productivity = excluded.productivity, impact = excluded.impact, complexity = excluded.complexity,
  technologies = excluded.technologies

-- name: sync.put_relation
-- Add a relation, or restore it.
INSERT INTO relations (workspace_id, id, from_entity, to_entity, relation_type, created_at)
VALUES (:workspace, :id, :from_entity, :to_entity, :relation_type, :created_at)
ON CONFLICT (workspace_id, id) DO UPDATE SET from_entity = excluded.from_entity, to_entity = excluded.to_entity,
  relation_type = excluded.relation_type, created_at = excluded.created_at, deleted_at = NULL

-- name: sync.release
-- Memories that were replaced, and are now deleted: nothing stands for them any more.
UPDATE memory_details SET superseded_by = NULL, ending = ''
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: sync.forgotten
-- Those of some records that were deleted here, or purged, and that nothing has replaced.
SELECT a.id FROM acts a
WHERE a.workspace_id = :workspace AND a.id IN (SELECT value FROM json_each(:ids))
  AND (a.operation LIKE 'delete~_%' ESCAPE '~' OR a.operation LIKE 'purge~_%' ESCAPE '~')
  AND NOT EXISTS (
    SELECT 1 FROM records r LEFT JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
    WHERE r.workspace_id = a.workspace_id AND r.id = a.id AND (r.deleted_at IS NULL OR d.superseded_by IS NOT NULL))

-- name: sync.earlier
-- Make room among the versions of a record for a later one: the one that ended at a time ended earlier.
UPDATE versions SET until = :earlier WHERE workspace_id = :workspace AND id = :id AND until = :until

-- name: sync.keep
-- Keep the other side's text of a conflict as an earlier version.
INSERT INTO versions (workspace_id, id, until, body, tags, importance, client, tool, name)
VALUES (:workspace, :id, :until, :body, :tags, :importance, :client, :tool, :name)

-- name: sync.holders
-- The living memories and entities with some keys and names.
SELECT r.id, r.kind FROM records r
WHERE r.workspace_id = :workspace AND r.kind IN ('memory', 'entity') AND r.scope = '' AND r.deleted_at IS NULL
  AND r.name IN (SELECT value FROM json_each(:names))
