CREATE TABLE "collections" (
    id TEXT PRIMARY KEY, -- unique globally
    name TEXT NOT NULL, -- unique per database
    dimension INTEGER,
    database_id TEXT NOT NULL REFERENCES databases(id) ON DELETE CASCADE, config_json_str TEXT, schema_str TEXT,
    UNIQUE (name, database_id)
);
INSERT INTO "collections" VALUES ('e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'mempalace_drawers', 384, '00000000-0000-0000-0000-000000000000', '{"_type": "CollectionConfigurationInternal"}', '{"defaults":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}},"float_list":{"vector_index":{"enabled":false,"config":{"space":"cosine","embedding_function":{"type":"known","name":"default","config":{}},"hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":1,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}},"sparse_vector":{"sparse_vector_index":{"enabled":false,"config":{"embedding_function":{"type":"unknown"},"bm25":false}}},"int":{"int_inverted_index":{"enabled":true,"config":{}}},"float":{"float_inverted_index":{"enabled":true,"config":{}}},"bool":{"bool_inverted_index":{"enabled":true,"config":{}}}},"keys":{"id_recipe":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"room":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"added_by":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"source_file":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"#document":{"string":{"fts_index":{"enabled":true,"config":{}},"string_inverted_index":{"enabled":false,"config":{}}}},"chunk_index":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"last_modified":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"agent":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"wing":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"filed_at":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"topic":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"parent_drawer_id":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"normalize_version":{"int":{"int_inverted_index":{"enabled":true,"config":{}}}},"date":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"type":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}},"#embedding":{"float_list":{"vector_index":{"enabled":true,"config":{"space":"cosine","embedding_function":{"type":"known","name":"default","config":{}},"source_key":"#document","hnsw":{"ef_construction":100,"max_neighbors":16,"ef_search":100,"num_threads":1,"batch_size":100,"sync_threshold":1000,"resize_factor":1.2}}}}},"hall":{"string":{"fts_index":{"enabled":false,"config":{}},"string_inverted_index":{"enabled":true,"config":{}}}}}}');
CREATE TABLE "segments" (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    scope TEXT NOT NULL,
    collection TEXT REFERENCES collection(id) NOT NULL
);
INSERT INTO "segments" VALUES ('8b53d136-e8e4-4445-9c34-d6254423c485', 'urn:chroma:segment/vector/hnsw-local-persisted', 'VECTOR', 'e7355283-c8c7-4f2f-81fc-7d9e14a6b603');
INSERT INTO "segments" VALUES ('00a78cef-169b-4f34-a24d-940e102f3fc5', 'urn:chroma:segment/metadata/sqlite', 'METADATA', 'e7355283-c8c7-4f2f-81fc-7d9e14a6b603');
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    segment_id TEXT NOT NULL,
    embedding_id TEXT NOT NULL,
    seq_id BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE (segment_id, embedding_id)
);
INSERT INTO "embeddings" VALUES (1, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'drawer_shop_deploy_3753ee774f84ada8b78dddbd', 1, '2026-11-22 09:27:43');
INSERT INTO "embeddings" VALUES (2, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d_chunk_000000', 2, '2026-11-22 09:27:43');
INSERT INTO "embeddings" VALUES (3, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d_chunk_000001', 3, '2026-11-22 09:27:43');
INSERT INTO "embeddings" VALUES (4, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d_chunk_000002', 4, '2026-11-22 09:27:43');
INSERT INTO "embeddings" VALUES (5, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d_chunk_000003', 5, '2026-11-22 09:27:43');
INSERT INTO "embeddings" VALUES (6, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'diary_wing_ann_20261122_092743317368_9688f8059815', 6, '2026-11-22 09:27:43');
INSERT INTO "embeddings" VALUES (7, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'mined_0', 7, '2026-11-22 09:27:43');
INSERT INTO "embeddings" VALUES (8, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'mined_1', 8, '2026-11-22 09:27:43');
INSERT INTO "embeddings" VALUES (9, '00a78cef-169b-4f34-a24d-940e102f3fc5', 'mined_2', 9, '2026-11-22 09:27:43');
CREATE TABLE embedding_metadata (
    id INTEGER REFERENCES embeddings(id),
    key TEXT NOT NULL,
    string_value TEXT,
    int_value INTEGER,
    float_value REAL, bool_value INTEGER,
    PRIMARY KEY (id, key)
);
INSERT INTO "embedding_metadata" VALUES (1, 'source_file', '', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (1, 'last_modified', '2026-11-22T09:27:43.223212', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (1, 'chroma:document', 'Staging listens on port 5433.', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (1, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (1, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (1, 'room', 'deploy', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (1, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (1, 'filed_at', '2026-11-22T09:27:43.223212', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (1, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'filed_at', '2026-11-22T09:27:43.284534', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'room', 'deploy', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'parent_drawer_id', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'last_modified', '2026-11-22T09:27:43.284534', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'chroma:document', 'word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36 word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48 word49 word50 word51 word52 word53 word54 word55 word56 word57 word58 word59 word60 word61 word62 word63 word64 word65 word66 word67 word68 word69 word70 word71 word72 word73 word74 word75 word76 word77 word78 word79 word80 word81 word82 word83 word84 word85 word86 word87 word88 word89 word90 word91 word92 word93 word94 word95 word96 word97 word98 word99 word100 word101 word102 word103 word104 word105 word106 word107 word108 word109 word110 word111 word112 word11', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (2, 'source_file', '', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'parent_drawer_id', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'room', 'deploy', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'chroma:document', '3 word114 word115 word116 word117 word118 word119 word120 word121 word122 word123 word124 word125 word126 word127 word128 word129 word130 word131 word132 word133 word134 word135 word136 word137 word138 word139 word140 word141 word142 word143 word144 word145 word146 word147 word148 word149 word150 word151 word152 word153 word154 word155 word156 word157 word158 word159 word160 word161 word162 word163 word164 word165 word166 word167 word168 word169 word170 word171 word172 word173 word174 word175 word176 word177 word178 word179 word180 word181 word182 word183 word184 word185 word186 word187 word188 word189 word190 word191 word192 word193 word194 word195 word196 word197 word198 word199 word200 word201 word202 word203 word204 word205 word206 word207 word208 word209 word210 word211 word212 word21', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'chunk_index', NULL, 1, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'filed_at', '2026-11-22T09:27:43.284534', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'last_modified', '2026-11-22T09:27:43.284534', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'source_file', '', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (3, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'last_modified', '2026-11-22T09:27:43.284534', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'chroma:document', '3 word214 word215 word216 word217 word218 word219 word220 word221 word222 word223 word224 word225 word226 word227 word228 word229 word230 word231 word232 word233 word234 word235 word236 word237 word238 word239 word240 word241 word242 word243 word244 word245 word246 word247 word248 word249 word250 word251 word252 word253 word254 word255 word256 word257 word258 word259 word260 word261 word262 word263 word264 word265 word266 word267 word268 word269 word270 word271 word272 word273 word274 word275 word276 word277 word278 word279 word280 word281 word282 word283 word284 word285 word286 word287 word288 word289 word290 word291 word292 word293 word294 word295 word296 word297 word298 word299 word300 word301 word302 word303 word304 word305 word306 word307 word308 word309 word310 word311 word312 word31', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'room', 'deploy', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'source_file', '', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'filed_at', '2026-11-22T09:27:43.284534', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'chunk_index', NULL, 2, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (4, 'parent_drawer_id', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'source_file', '', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'room', 'deploy', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'filed_at', '2026-11-22T09:27:43.284534', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'chroma:document', '3 word314 word315 word316 word317 word318 word319 word320 word321 word322 word323 word324 word325 word326 word327 word328 word329 word330 word331 word332 word333 word334 word335 word336 word337 word338 word339 word340 word341 word342 word343 word344 word345 word346 word347 word348 word349 word350 word351 word352 word353 word354 word355 word356 word357 word358 word359 word360 word361 word362 word363 word364 word365 word366 word367 word368 word369 word370 word371 word372 word373 word374 word375 word376 word377 word378 word379 word380 word381 word382 word383 word384 word385 word386 word387 word388 word389 word390 word391 word392 word393 word394 word395 word396 word397 word398 word399', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'chunk_index', NULL, 3, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'last_modified', '2026-11-22T09:27:43.284534', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'added_by', 'mcp', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'parent_drawer_id', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'id_recipe', 'v3', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (5, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'room', 'diary', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'date', '2026-11-22', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'filed_at', '2026-11-22T09:27:43.317368', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'topic', 'house', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'wing', 'wing_ann', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'chroma:document', 'Today the boiler was fixed.', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'last_modified', '2026-11-22T09:27:43.317368', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'hall', 'hall_diary', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'type', 'diary_entry', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (6, 'agent', 'ann', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'room', 'src', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'filed_at', '2026-03-04T10:00:00', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'source_file', '/srv/shop/notes.md', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'last_modified', '2026-03-04T10:00:00', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'chroma:document', 'tea0 tea1 tea2 tea3 tea4 tea5 tea6 tea7 tea8 tea9 tea10 tea11 tea12 tea13 tea14 tea15 tea16 tea17 tea18 tea19 tea20 tea21 tea22 tea23 tea24 tea25 tea26 tea27 tea28 tea29 tea30 tea31 tea32 tea33 tea34 tea35 tea36 tea37 tea38 tea39 tea40 tea41 tea42 tea43 tea44 tea45 tea46 tea47 tea48 tea49 tea50 tea51 tea52 tea53 tea54 tea55 tea56 tea57 tea58 tea59 tea60 tea61 tea62 tea63 tea64 tea65 tea66 tea67 tea68 tea69 tea70 tea71 tea72 tea73 tea74 tea75 tea76 tea77 tea78 tea79 tea80 tea81 tea82 tea83 tea84 tea85 tea86 tea87 tea88 tea89 tea90 tea91 tea92 tea93 tea94 tea95 tea96 tea97 tea98 tea99 tea100 tea101 tea102 tea103 tea104 tea105 tea106 tea107 tea108 tea109 tea110 tea111 tea112 tea113 tea114 tea115 tea116 tea117 tea118 tea119 tea120 tea121 tea122 tea123 tea124 tea125 tea126 tea127 tea128 tea129 ', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'chunk_index', NULL, 0, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'added_by', 'miner', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (7, 'normalize_version', NULL, 1, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'source_file', '/srv/shop/notes.md', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'chunk_index', NULL, 1, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'filed_at', '2026-03-04T10:00:00', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'chroma:document', '5 tea116 tea117 tea118 tea119 tea120 tea121 tea122 tea123 tea124 tea125 tea126 tea127 tea128 tea129 tea130 tea131 tea132 tea133 tea134 tea135 tea136 tea137 tea138 tea139 tea140 tea141 tea142 tea143 tea144 tea145 tea146 tea147 tea148 tea149 tea150 tea151 tea152 tea153 tea154 tea155 tea156 tea157 tea158 tea159 tea160 tea161 tea162 tea163 tea164 tea165 tea166 tea167 tea168 tea169 tea170 tea171 tea172 tea173 tea174 tea175 tea176 tea177 tea178 tea179 tea180 tea181 tea182 tea183 tea184 tea185 tea186 tea187 tea188 tea189 tea190 tea191 tea192 tea193 tea194 tea195 tea196 tea197 tea198 tea199 tea200 tea201 tea202 tea203 tea204 tea205 tea206 tea207 tea208 tea209 tea210 tea211 tea212 tea213 tea214 tea215 tea216 tea217 tea218 tea219 tea220 tea221 tea222 tea223 tea224 tea225 tea226 tea227 tea228 tea229 ', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'last_modified', '2026-03-04T10:00:00', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'normalize_version', NULL, 1, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'room', 'src', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'added_by', 'miner', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (8, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'chroma:document', '5 tea216 tea217 tea218 tea219 tea220 tea221 tea222 tea223 tea224 tea225 tea226 tea227 tea228 tea229 tea230 tea231 tea232 tea233 tea234 tea235 tea236 tea237 tea238 tea239 tea240 tea241 tea242 tea243 tea244 tea245 tea246 tea247 tea248 tea249', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'filed_at', '2026-03-04T10:00:00', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'chunk_index', NULL, 2, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'normalize_version', NULL, 1, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'added_by', 'miner', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'source_file', '/srv/shop/notes.md', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'last_modified', '2026-03-04T10:00:00', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'wing', 'shop', NULL, NULL, NULL);
INSERT INTO "embedding_metadata" VALUES (9, 'room', 'src', NULL, NULL, NULL);
CREATE TABLE embeddings_queue (
    seq_id INTEGER PRIMARY KEY,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    operation INTEGER NOT NULL,
    topic TEXT NOT NULL,
    id TEXT NOT NULL,
    vector BLOB,
    encoding TEXT,
    metadata TEXT
);
INSERT INTO "embeddings_queue" VALUES (1, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'drawer_shop_deploy_3753ee774f84ada8b78dddbd', NULL, 'FLOAT32', '{"chunk_index":0,"id_recipe":"v3","added_by":"mcp","last_modified":"2026-11-22T09:27:43.223212","filed_at":"2026-11-22T09:27:43.223212","room":"deploy","source_file":"","wing":"shop","chroma:document":"Staging listens on port 5433."}');
INSERT INTO "embeddings_queue" VALUES (2, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d_chunk_000000', NULL, 'FLOAT32', '{"filed_at":"2026-11-22T09:27:43.284534","source_file":"","last_modified":"2026-11-22T09:27:43.284534","room":"deploy","parent_drawer_id":"drawer_shop_deploy_3868c7b114e3fa95a1ac406d","id_recipe":"v3","wing":"shop","chroma:document":"word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36 word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48 word49 word50 word51 word52 word53 word54 word55 word56 word57 word58 word59 word60 word61 word62 word63 word64 word65 word66 word67 word68 word69 word70 word71 word72 word73 word74 word75 word76 word77 word78 word79 word80 word81 word82 word83 word84 word85 word86 word87 word88 word89 word90 word91 word92 word93 word94 word95 word96 word97 word98 word99 word100 word101 word102 word103 word104 word105 word106 word107 word108 word109 word110 word111 word112 word11","added_by":"mcp","chunk_index":0}');
INSERT INTO "embeddings_queue" VALUES (3, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d_chunk_000001', NULL, 'FLOAT32', '{"parent_drawer_id":"drawer_shop_deploy_3868c7b114e3fa95a1ac406d","room":"deploy","filed_at":"2026-11-22T09:27:43.284534","chroma:document":"3 word114 word115 word116 word117 word118 word119 word120 word121 word122 word123 word124 word125 word126 word127 word128 word129 word130 word131 word132 word133 word134 word135 word136 word137 word138 word139 word140 word141 word142 word143 word144 word145 word146 word147 word148 word149 word150 word151 word152 word153 word154 word155 word156 word157 word158 word159 word160 word161 word162 word163 word164 word165 word166 word167 word168 word169 word170 word171 word172 word173 word174 word175 word176 word177 word178 word179 word180 word181 word182 word183 word184 word185 word186 word187 word188 word189 word190 word191 word192 word193 word194 word195 word196 word197 word198 word199 word200 word201 word202 word203 word204 word205 word206 word207 word208 word209 word210 word211 word212 word21","added_by":"mcp","chunk_index":1,"last_modified":"2026-11-22T09:27:43.284534","source_file":"","wing":"shop","id_recipe":"v3"}');
INSERT INTO "embeddings_queue" VALUES (4, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d_chunk_000002', NULL, 'FLOAT32', '{"chunk_index":2,"id_recipe":"v3","wing":"shop","parent_drawer_id":"drawer_shop_deploy_3868c7b114e3fa95a1ac406d","source_file":"","filed_at":"2026-11-22T09:27:43.284534","room":"deploy","last_modified":"2026-11-22T09:27:43.284534","added_by":"mcp","chroma:document":"3 word214 word215 word216 word217 word218 word219 word220 word221 word222 word223 word224 word225 word226 word227 word228 word229 word230 word231 word232 word233 word234 word235 word236 word237 word238 word239 word240 word241 word242 word243 word244 word245 word246 word247 word248 word249 word250 word251 word252 word253 word254 word255 word256 word257 word258 word259 word260 word261 word262 word263 word264 word265 word266 word267 word268 word269 word270 word271 word272 word273 word274 word275 word276 word277 word278 word279 word280 word281 word282 word283 word284 word285 word286 word287 word288 word289 word290 word291 word292 word293 word294 word295 word296 word297 word298 word299 word300 word301 word302 word303 word304 word305 word306 word307 word308 word309 word310 word311 word312 word31"}');
INSERT INTO "embeddings_queue" VALUES (5, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'drawer_shop_deploy_3868c7b114e3fa95a1ac406d_chunk_000003', NULL, 'FLOAT32', '{"id_recipe":"v3","chroma:document":"3 word314 word315 word316 word317 word318 word319 word320 word321 word322 word323 word324 word325 word326 word327 word328 word329 word330 word331 word332 word333 word334 word335 word336 word337 word338 word339 word340 word341 word342 word343 word344 word345 word346 word347 word348 word349 word350 word351 word352 word353 word354 word355 word356 word357 word358 word359 word360 word361 word362 word363 word364 word365 word366 word367 word368 word369 word370 word371 word372 word373 word374 word375 word376 word377 word378 word379 word380 word381 word382 word383 word384 word385 word386 word387 word388 word389 word390 word391 word392 word393 word394 word395 word396 word397 word398 word399","source_file":"","parent_drawer_id":"drawer_shop_deploy_3868c7b114e3fa95a1ac406d","room":"deploy","wing":"shop","added_by":"mcp","filed_at":"2026-11-22T09:27:43.284534","chunk_index":3,"last_modified":"2026-11-22T09:27:43.284534"}');
INSERT INTO "embeddings_queue" VALUES (6, '2026-11-22 09:27:43', 0, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'diary_wing_ann_20261122_092743317368_9688f8059815', NULL, 'FLOAT32', '{"filed_at":"2026-11-22T09:27:43.317368","wing":"wing_ann","agent":"ann","last_modified":"2026-11-22T09:27:43.317368","chunk_index":0,"chroma:document":"Today the boiler was fixed.","date":"2026-11-22","topic":"house","room":"diary","hall":"hall_diary","type":"diary_entry"}');
INSERT INTO "embeddings_queue" VALUES (7, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'mined_0', NULL, 'FLOAT32', '{"last_modified":"2026-03-04T10:00:00","room":"src","chunk_index":0,"normalize_version":1,"wing":"shop","added_by":"miner","filed_at":"2026-03-04T10:00:00","chroma:document":"The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from A","source_file":"/srv/shop/notes.md"}');
INSERT INTO "embeddings_queue" VALUES (8, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'mined_1', NULL, 'FLOAT32', '{"last_modified":"2026-03-04T10:00:00","chroma:document":" from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sel","normalize_version":1,"added_by":"miner","room":"src","chunk_index":1,"wing":"shop","source_file":"/srv/shop/notes.md","filed_at":"2026-03-04T10:00:00"}');
INSERT INTO "embeddings_queue" VALUES (9, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'mined_2', NULL, 'FLOAT32', '{"filed_at":"2026-03-04T10:00:00","chroma:document":"hop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. The shop sells tea from Assam. ","added_by":"miner","normalize_version":1,"chunk_index":2,"wing":"shop","room":"src","last_modified":"2026-03-04T10:00:00","source_file":"/srv/shop/notes.md"}');
INSERT INTO "embeddings_queue" VALUES (99, '2026-11-22 09:27:43', 2, 'persistent://default/default/e7355283-c8c7-4f2f-81fc-7d9e14a6b603', 'drawer_waiting', NULL, 'FLOAT32', '{"chunk_index":0,"id_recipe":"v3","added_by":"mcp","last_modified":"2026-11-22T09:27:43.223212","filed_at":"2026-11-22T09:27:43.223212","room":"deploy","source_file":"","wing":"shop","chroma:document":"Staging listens on port 5433."}');
CREATE TABLE embeddings_queue_config (
    id INTEGER PRIMARY KEY,
    config_json_str TEXT
);
INSERT INTO "embeddings_queue_config" VALUES (1, '{"automatically_purge":true,"_type":"EmbeddingsQueueConfigurationInternal"}');
