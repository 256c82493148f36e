-- name: history.ended
-- Deleted records, the last first: how they ended, by whom, and what has replaced them.
SELECT * FROM (
  SELECT r.deleted_at AS at, CASE WHEN coalesce(d.ending, '') <> '' THEN d.ending
      WHEN coalesce(e.other, '') <> '' THEN 'merged' ELSE 'deleted' END AS what,
    r.id, r.kind, r.name, r.type, r.body, s.id AS successor, s.name AS now_name, s.type AS now_type, s.body AS now_body,
    coalesce(d.reason, '') AS reason, coalesce(e.client, '') AS client, coalesce(e.tool, '') AS tool
  FROM records r
  LEFT JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
  LEFT JOIN acts e ON e.workspace_id = r.workspace_id AND e.id = r.id AND e.at = r.deleted_at
  LEFT JOIN records s ON s.workspace_id = r.workspace_id AND s.id = coalesce(d.superseded_by, e.other)
  WHERE r.workspace_id = :workspace AND r.deleted_at IS NOT NULL AND r.scope = ''
    AND (r.deleted_at, r.id) < (:at, :id) AND r.deleted_at >= :since AND r.deleted_at < :until
    AND (:kind = '' OR r.kind = :kind)
    AND (:words = '' OR lower(coalesce(r.name, '') || ' ' || r.body) LIKE lower(:words) ESCAPE '~')) x
WHERE (:what = '' OR what = :what) AND (:by = '' OR lower(client || ' ' || tool) LIKE lower(:by) ESCAPE '~')
ORDER BY at DESC, id DESC LIMIT :limit

-- name: history.changed
-- Earlier texts of living records and earlier names of nodes, the last first, with the present ones and who changed
-- them: the next writer, or who restored an earlier text, which has its own writer again.
SELECT * FROM (
  SELECT v.until AS at, 'changed' AS what, r.id, r.kind, coalesce(v.name, r.name) AS name, r.type, v.body,
    NULL AS successor, r.name AS now_name, r.type AS now_type, r.body AS now_body,
    CASE WHEN e.id IS NULL THEN '' ELSE 'what was there before was restored' END AS reason,
    coalesce(e.client, w.client, r.client) AS client, coalesce(e.tool, w.tool, r.tool) AS tool
  FROM versions v JOIN records r ON r.workspace_id = v.workspace_id AND r.id = v.id
  LEFT JOIN versions w ON w.workspace_id = v.workspace_id AND w.id = v.id AND w.until = (
    SELECT min(n.until) FROM versions n WHERE n.workspace_id = v.workspace_id AND n.id = v.id AND n.until > v.until)
  LEFT JOIN acts e ON e.workspace_id = v.workspace_id AND e.id = v.id AND e.at = v.until
    AND e.operation = 'revert_' || r.kind
  WHERE v.workspace_id = :workspace AND r.deleted_at IS NULL
    AND (v.body <> r.body OR r.kind = 'entity' AND v.name <> r.name)
    AND (v.until, v.id) < (:at, :id) AND v.until >= :since AND v.until < :until AND (:kind = '' OR r.kind = :kind)
    AND (:words = '' OR lower(
      coalesce(v.name, '') || ' ' || v.body || ' ' || coalesce(r.name, '') || ' ' || r.body) LIKE lower(:words) ESCAPE '~')) x
WHERE (:by = '' OR lower(client || ' ' || tool) LIKE lower(:by) ESCAPE '~')
ORDER BY at DESC, id DESC LIMIT :limit

-- name: history.cut
-- Deleted relations, the last first, and who deleted them.
SELECT x.deleted_at AS at, 'deleted' AS what, x.id, 'relation' AS kind, NULL AS name, x.relation_type AS type,
  s.name || ' ' || x.relation_type || ' ' || t.name AS body, NULL AS successor, NULL AS now_name, NULL AS now_type,
  NULL AS now_body, '' AS reason, coalesce(e.client, '') AS client, coalesce(e.tool, '') AS tool
{parts.relations}
LEFT JOIN acts e ON e.workspace_id = x.workspace_id AND e.id = x.id AND e.at = x.deleted_at
WHERE x.workspace_id = :workspace AND x.deleted_at IS NOT NULL AND (x.deleted_at, x.id) < (:at, :id)
  AND x.deleted_at >= :since AND x.deleted_at < :until
  AND (:by = '' OR lower(coalesce(e.client, '') || ' ' || coalesce(e.tool, '')) LIKE lower(:by) ESCAPE '~')
  AND (:words = '' OR lower(s.name || ' ' || x.relation_type || ' ' || t.name) LIKE lower(:words) ESCAPE '~')
ORDER BY x.deleted_at DESC, x.id DESC LIMIT :limit

-- name: history.record
-- The durable record with an id, and what is needed to restore it or to change it back.
SELECT r.id, r.kind, r.name, r.type, r.body, r.tags, r.scope, r.updated_at, r.deleted_at, d.superseded_by, d.importance,
  d.access_count, coalesce(d.ending, '') AS ending, o.entity_id, e.name AS entity_name,
  e.deleted_at AS entity_deleted_at, coalesce(n.other, '') AS node
FROM records r
LEFT JOIN memory_details d ON d.workspace_id = r.workspace_id AND d.id = r.id
LEFT JOIN acts n ON n.workspace_id = r.workspace_id AND n.id = r.id AND n.at = r.deleted_at
LEFT JOIN observation_details o ON o.workspace_id = r.workspace_id AND o.id = r.id
LEFT JOIN records e ON e.workspace_id = r.workspace_id AND e.id = o.entity_id
WHERE r.workspace_id = :workspace AND r.id = :id AND r.scope = ''

-- name: history.holder
-- The living record of a kind with a name.
SELECT r.id FROM records r
WHERE r.workspace_id = :workspace AND r.kind = :kind AND r.kind IN ('memory', 'entity') AND r.scope = ''
  AND r.name = :name AND r.deleted_at IS NULL

-- name: history.originals
-- The memories that a summary stands for.
SELECT r.id FROM memory_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace AND d.superseded_by = :id AND d.ending = 'compacted' AND r.deleted_at IS NOT NULL

-- name: history.version
-- The last earlier version of a record with another text, or of a node with another name; else one with other tags.
-- The last one is the version that ended when the present text began: clocks are set back, and machines' clocks differ.
SELECT v.body, v.tags, v.importance, v.client, v.tool, coalesce(v.name, r.name) AS name
FROM versions v JOIN records r ON r.workspace_id = v.workspace_id AND r.id = v.id
WHERE v.workspace_id = :workspace AND v.id = :id
ORDER BY CASE WHEN v.body <> r.body OR r.kind = 'entity' AND v.name <> r.name THEN 0 ELSE 1 END,
  CASE WHEN v.until = r.updated_at THEN 0 ELSE 1 END, v.until DESC LIMIT 1

-- name: history.before
-- The version of a record that ended at a given time.
SELECT body, tags, importance, client, tool, name FROM versions
WHERE workspace_id = :workspace AND id = :id AND until = :until

-- name: history.observed
-- The observations that were deleted together with their entity.
SELECT r.id FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id = :id AND r.deleted_at = :at

-- name: history.related
-- The relations that were deleted at a time and can be restored, because both ends are living.
SELECT x.id, x.from_entity, x.to_entity FROM relations x
JOIN records s ON s.workspace_id = x.workspace_id AND s.id = x.from_entity AND s.deleted_at IS NULL
JOIN records t ON t.workspace_id = x.workspace_id AND t.id = x.to_entity AND t.deleted_at IS NULL
WHERE x.workspace_id = :workspace AND x.deleted_at = :at AND (x.from_entity = :id OR x.to_entity = :id)

-- name: history.gained
-- The living observations and relations that a node gained when another one was merged into it.
SELECT r.id, 'observation' AS kind, o.entity_id AS source, o.entity_id AS target
FROM observation_details o JOIN records r ON r.workspace_id = o.workspace_id AND r.id = o.id
WHERE o.workspace_id = :workspace AND o.entity_id = :id AND r.created_at = :at AND r.deleted_at IS NULL
UNION ALL
SELECT x.id, 'relation', x.from_entity, x.to_entity FROM relations x
WHERE x.workspace_id = :workspace AND (x.from_entity = :id OR x.to_entity = :id) AND x.created_at = :at
  AND x.deleted_at IS NULL

-- name: history.relation
-- A deleted relation with its ends, and whether the same one exists again.
SELECT x.id, x.from_entity, x.to_entity, s.name AS source, t.name AS target, x.relation_type, x.deleted_at,
  CASE WHEN s.deleted_at IS NULL AND t.deleted_at IS NULL THEN 1 ELSE 0 END AS possible,
  CASE WHEN EXISTS (
    SELECT 1 FROM relations y WHERE y.workspace_id = x.workspace_id AND y.from_entity = x.from_entity
      AND y.to_entity = x.to_entity AND y.relation_type = x.relation_type AND y.deleted_at IS NULL
  ) THEN 1 ELSE 0 END AS again
{parts.relations}
WHERE x.workspace_id = :workspace AND x.id = :id AND x.deleted_at IS NOT NULL

-- name: relations.restore
-- Restore some relations, unless the same one was added in the meantime.
UPDATE relations SET deleted_at = NULL
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids)) AND NOT EXISTS (
  SELECT 1 FROM relations y WHERE y.workspace_id = relations.workspace_id AND y.from_entity = relations.from_entity
    AND y.to_entity = relations.to_entity AND y.relation_type = relations.relation_type AND y.deleted_at IS NULL)

-- name: records.restore
-- Restore records; the text of an entity names its relations once they are restored, too.
UPDATE records SET deleted_at = NULL, related = '[]'
WHERE workspace_id = :workspace AND deleted_at IS NOT NULL AND id IN (SELECT value FROM json_each(:ids))

-- name: memories.restore
-- Mark restored memories as not superseded; maintenance ignores them from now on: `consolidated` is 2.
UPDATE memory_details SET superseded_by = NULL, ending = '', reason = '', consolidated = 2
WHERE workspace_id = :workspace AND id IN (SELECT value FROM json_each(:ids))

-- name: memories.correct
-- Note that the text of a memory has changed: consolidation compares it again, unless it was restored and is exempt.
UPDATE memory_details SET fingerprint = :fingerprint, importance = :importance, gist = '',
  consolidated = CASE WHEN consolidated = 2 THEN 2 ELSE :consolidated END
WHERE workspace_id = :workspace AND id = :id

-- name: memories.release
-- Undo what a memory got from another one.
UPDATE memory_details SET importance = :importance,
  access_count = CASE WHEN access_count > :times THEN access_count - :times ELSE 0 END
WHERE workspace_id = :workspace AND id = :id
