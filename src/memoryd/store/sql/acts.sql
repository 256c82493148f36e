-- name: acts.add
-- Record who did something to a subject, and with which other one.
INSERT INTO acts (workspace_id, id, at, operation, other, client, tool)
VALUES (:workspace, :subject, :now, :operation, :other, :client, :tool) ON CONFLICT (workspace_id, id, at) DO NOTHING

-- name: acts.of_records
-- Record who did something to some records; a deletion only for those that were not already deleted.
INSERT INTO acts (workspace_id, id, at, operation, other, client, tool)
SELECT r.workspace_id, r.id, :now, :verb || '_' || r.kind, :other, :client, :tool FROM json_each(:ids) wanted
JOIN records r ON r.workspace_id = :workspace AND r.id = wanted.value
WHERE :verb <> 'delete' OR r.deleted_at = :now
ON CONFLICT (workspace_id, id, at) DO NOTHING

-- name: acts.of
-- What was done to a record of a kind, the last first; without refusals about pairs of nodes.
SELECT at, operation, client, tool FROM acts
WHERE workspace_id = :workspace AND id = :id AND operation LIKE '%~_' || :kind ESCAPE '~' ORDER BY at DESC LIMIT :limit

-- name: acts.done
-- What was done that cannot be undone, the last first, and its subject if that still exists.
SELECT a.at, a.operation, a.id, a.client, a.tool, r.name, coalesce(r.type, '') AS type,
  coalesce(r.body, s.name || ' ' || x.relation_type || ' ' || t.name, '') AS body
FROM acts a
LEFT JOIN records r ON r.workspace_id = a.workspace_id AND r.id = a.id
LEFT JOIN relations x ON x.workspace_id = a.workspace_id AND x.id = a.id
LEFT JOIN records s ON s.workspace_id = x.workspace_id AND s.id = x.from_entity
LEFT JOIN records t ON t.workspace_id = x.workspace_id AND t.id = x.to_entity
WHERE a.workspace_id = :workspace AND a.operation IN (SELECT value FROM json_each(:operations))
  AND (a.at, a.id) < (:at, :id) AND a.at >= :since AND a.at < :until
  AND (:by = '' OR lower(a.client || ' ' || a.tool) LIKE lower(:by) ESCAPE '~')
  AND (:words = '' OR lower(coalesce(r.name, '') || ' ' || coalesce(
    r.body, s.name || ' ' || x.relation_type || ' ' || t.name, '')) LIKE lower(:words) ESCAPE '~')
ORDER BY a.at DESC, a.id DESC LIMIT :limit

-- name: acts.refused
-- The pairs of living nodes or memories with a refusal that was not withdrawn, the last first.
SELECT a.id AS one_id, a.other AS other_id, s.name AS one, t.name AS other, a.at, a.client, a.tool
FROM acts a
JOIN records s ON s.workspace_id = a.workspace_id AND s.id = a.id AND s.deleted_at IS NULL
JOIN records t ON t.workspace_id = a.workspace_id AND t.id = a.other AND t.deleted_at IS NULL
WHERE a.workspace_id = :workspace AND a.operation = :operation AND NOT EXISTS (
  SELECT 1 FROM acts b WHERE b.workspace_id = a.workspace_id AND b.id = a.id AND b.other = a.other
    AND b.operation IN (:operation, :taken_back) AND b.at > a.at)
ORDER BY a.at DESC, a.id

-- name: acts.reconsider
-- Delete the refusals of contradictions of a record, because its text has changed.
DELETE FROM acts WHERE workspace_id = :workspace AND operation = 'refuse_contradiction' AND (id = :id OR other = :id)
