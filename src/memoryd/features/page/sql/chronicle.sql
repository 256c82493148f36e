-- name: chronicle.days
-- How often each operation happened on each day since a time, the last day first.
SELECT substr(at, 1, 10) AS day, operation, count(*) AS number FROM events
WHERE workspace_id = :workspace AND at >= :since GROUP BY substr(at, 1, 10), operation ORDER BY substr(at, 1, 10) DESC

-- name: chronicle.sessions
-- The sessions that wrote durable records, the last one first: what, how much, when, and how the first turn begins, or
-- without turns the first memory. Whoever corrected a record later was not in its session.
SELECT s.id, s.ended, s.turns, s.stored, s.title, s.client,
  CASE WHEN s.title IS NULL THEN
    (SELECT CASE WHEN cuts.id IS NULL THEN f.body ELSE substr(f.body, 1, cuts.thought_at - 2) END FROM records f
     LEFT JOIN interaction_details cuts ON cuts.workspace_id = f.workspace_id AND cuts.id = f.id
     WHERE f.workspace_id = :workspace AND f.session_id = s.id AND f.deleted_at IS NULL AND f.scope = ''
       AND f.kind IN ('interaction', 'memory', 'observation')
     ORDER BY CASE WHEN cuts.id IS NULL THEN 1 ELSE 0 END, f.created_at, f.id LIMIT 1) END AS beginning
FROM (SELECT r.session_id AS id, max(r.created_at) AS ended,
    sum(CASE WHEN r.kind = 'interaction' THEN 1 ELSE 0 END) AS turns,
    sum(CASE WHEN r.kind IN ('memory', 'observation') THEN 1 ELSE 0 END) AS stored,
    max(CASE WHEN r.kind = 'summary' THEN r.name END) AS title,
    coalesce(max(CASE WHEN r.updated_at = r.created_at THEN r.client END), max(r.client)) AS client
  FROM records r
  WHERE r.workspace_id = :workspace AND r.session_id IS NOT NULL AND r.deleted_at IS NULL AND r.scope = ''
  GROUP BY r.session_id ORDER BY max(r.created_at) DESC, r.session_id LIMIT :limit) s
ORDER BY s.ended DESC, s.id

-- name: picture.nodes
-- Every entity, including deleted ones, with the times between which it existed.
SELECT r.id, r.name, r.type, r.created_at, r.deleted_at
FROM entity_details d JOIN records r ON r.workspace_id = d.workspace_id AND r.id = d.id
WHERE d.workspace_id = :workspace ORDER BY r.created_at, r.id LIMIT :limit

-- name: picture.edges
-- Every relation, including deleted ones, with the times between which it existed.
SELECT from_entity, to_entity, relation_type, created_at, deleted_at FROM relations
WHERE workspace_id = :workspace ORDER BY created_at, id LIMIT :limit

-- name: sharing.waiting
-- How many records and relations were changed after the last event that a sync has written.
SELECT count(DISTINCT e.subject) AS number FROM synced s
JOIN events e ON e.workspace_id = s.workspace_id AND e.seq > s.seq WHERE s.workspace_id = :workspace

-- name: sharing.kept
-- The conflicts of which the text that stands is kept: a record, and until when the other text is listed.
SELECT a.id, a.other FROM acts a WHERE a.workspace_id = :workspace AND a.operation = :keep AND NOT EXISTS (
  SELECT 1 FROM acts b WHERE b.workspace_id = a.workspace_id AND b.id = a.id AND b.other = a.other
    AND b.operation = :reopen AND b.at > a.at)
