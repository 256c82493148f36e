-- name: listing.tagged
-- Living, durable records that have ALL tags, of which :tag is one, using the index of tags.
SELECT id FROM records
WHERE workspace_id = :workspace AND deleted_at IS NULL AND scope = '' AND tags::jsonb @> :tags::jsonb
  AND tags::jsonb @> jsonb_build_array(:tag::text)
LIMIT :limit

-- name: records.tags
-- The tags in use, the most frequent first.
SELECT t.value AS tag, count(*) AS number FROM records r, json_each(r.tags) t
WHERE r.workspace_id = :workspace AND r.deleted_at IS NULL AND r.tags <> '[]' AND (r.scope = '' OR r.scope = :session)
GROUP BY t.value ORDER BY count(*) DESC, t.value LIMIT :limit
