-- the records of a span of time, which a search may ask for
CREATE INDEX records_created ON records (workspace_id, created_at) WHERE deleted_at IS NULL;
