-- `consolidated` of memory_details from now on: 0 not looked at yet; 1 settled by its words alone, or by whom is not known;
-- 2 restored by somebody, and left alone for good; 3 judged by a language model
CREATE INDEX memory_details_unjudged ON memory_details (workspace_id, id) WHERE consolidated = 1;
