-- people with a password; `level` and `workspace`, an id or '' for all, bound what they may grant a client
CREATE TABLE accounts (
  name TEXT PRIMARY KEY, hash TEXT NOT NULL, level TEXT NOT NULL, workspace TEXT NOT NULL,
  created_at TEXT NOT NULL) WITHOUT ROWID;
-- OAuth clients that registered themselves; `secret` is a hash, '' if the client has none
CREATE TABLE oauth_clients (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, secret TEXT NOT NULL, method TEXT NOT NULL, redirect_uris TEXT NOT NULL,
  created_at TEXT NOT NULL, used_at TEXT NOT NULL) WITHOUT ROWID;
-- requests of clients to log in, from the first redirect until their code has expired; `id`, `browser` and `code` are
-- hashes; `level` and `workspace` bound what the person may grant
CREATE TABLE authorizations (
  id TEXT PRIMARY KEY, client TEXT NOT NULL, client_name TEXT NOT NULL, redirect_uri TEXT NOT NULL,
  state TEXT NOT NULL, challenge TEXT NOT NULL, asked TEXT NOT NULL, browser TEXT NOT NULL, subject TEXT NOT NULL,
  person TEXT NOT NULL, level TEXT NOT NULL, workspace TEXT NOT NULL, until TEXT NOT NULL, code TEXT NOT NULL,
  login TEXT NOT NULL, used_at TEXT NOT NULL, expires_at TEXT NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX authorizations_code ON authorizations (code) WHERE code <> '';
-- what people granted to clients; a token of one is in `login_tokens`
CREATE TABLE logins (
  id TEXT PRIMARY KEY, subject TEXT NOT NULL, person TEXT NOT NULL, client TEXT NOT NULL, client_name TEXT NOT NULL,
  level TEXT NOT NULL, workspace TEXT NOT NULL, created_at TEXT NOT NULL, used_at TEXT NOT NULL,
  expires_at TEXT NOT NULL) WITHOUT ROWID;
-- hashes of tokens; a refresh token that was used has `rotated_at`
CREATE TABLE login_tokens (
  hash TEXT PRIMARY KEY, login TEXT NOT NULL, kind TEXT NOT NULL, expires_at TEXT NOT NULL,
  rotated_at TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX login_tokens_login ON login_tokens (login);
-- who was let in, and what was changed about that
CREATE TABLE access_log (
  id TEXT PRIMARY KEY, at TEXT NOT NULL, act TEXT NOT NULL, subject TEXT NOT NULL, client TEXT NOT NULL,
  detail TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX access_log_at ON access_log (at);
