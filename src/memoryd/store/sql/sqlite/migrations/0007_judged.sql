-- `consolidated` of memory_details from now on: 0 not looked at yet; 1 settled by its words alone, or by whom is not known;
-- 2 restored by somebody, and left alone for good; 3 judged by a language model
CREATE INDEX memory_details_unjudged ON memory_details (workspace_id, id) WHERE consolidated = 1;

-- its proportions, as 0002 gives those of the others
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('memory_details', 'memory_details_unjudged', '1000 100 1');
ANALYZE sqlite_schema;
