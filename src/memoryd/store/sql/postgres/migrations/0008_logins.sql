-- people with a password; `level` and `workspace`, an id or '' for all, bound what they may grant a client
CREATE TABLE accounts (
  name TEXT COLLATE "C" PRIMARY KEY, hash TEXT NOT NULL, level TEXT NOT NULL, workspace TEXT COLLATE "C" NOT NULL,
  created_at TEXT COLLATE "C" NOT NULL);
-- OAuth clients that registered themselves; `secret` is a hash, '' if the client has none
CREATE TABLE oauth_clients (
  id TEXT COLLATE "C" PRIMARY KEY, name TEXT NOT NULL, secret TEXT NOT NULL, method TEXT NOT NULL,
  redirect_uris TEXT NOT NULL, created_at TEXT COLLATE "C" NOT NULL, used_at TEXT COLLATE "C" NOT NULL);
-- requests of clients to log in, from the first redirect until their code has expired; `id`, `browser` and `code` are
-- hashes; `level` and `workspace` bound what the person may grant
CREATE TABLE authorizations (
  id TEXT COLLATE "C" PRIMARY KEY, client TEXT COLLATE "C" NOT NULL, client_name TEXT NOT NULL,
  redirect_uri TEXT NOT NULL, state TEXT NOT NULL, challenge TEXT NOT NULL, asked TEXT NOT NULL,
  browser TEXT NOT NULL, subject TEXT COLLATE "C" NOT NULL, person TEXT NOT NULL, level TEXT NOT NULL,
  workspace TEXT COLLATE "C" NOT NULL, until TEXT COLLATE "C" NOT NULL, code TEXT COLLATE "C" NOT NULL,
  login TEXT COLLATE "C" NOT NULL, used_at TEXT COLLATE "C" NOT NULL, expires_at TEXT COLLATE "C" NOT NULL);
CREATE UNIQUE INDEX authorizations_code ON authorizations (code) WHERE code <> '';
-- what people granted to clients; a token of one is in `login_tokens`
CREATE TABLE logins (
  id TEXT COLLATE "C" PRIMARY KEY, subject TEXT COLLATE "C" NOT NULL, person TEXT NOT NULL,
  client TEXT COLLATE "C" NOT NULL, client_name TEXT NOT NULL, level TEXT NOT NULL,
  workspace TEXT COLLATE "C" NOT NULL, created_at TEXT COLLATE "C" NOT NULL, used_at TEXT COLLATE "C" NOT NULL,
  expires_at TEXT COLLATE "C" NOT NULL);
-- hashes of tokens; a refresh token that was used has `rotated_at`
CREATE TABLE login_tokens (
  hash TEXT COLLATE "C" PRIMARY KEY, login TEXT COLLATE "C" NOT NULL, kind TEXT NOT NULL,
  expires_at TEXT COLLATE "C" NOT NULL, rotated_at TEXT COLLATE "C" NOT NULL);
CREATE INDEX login_tokens_login ON login_tokens (login);
-- who was let in, and what was changed about that
CREATE TABLE access_log (
  id TEXT COLLATE "C" PRIMARY KEY, at TEXT COLLATE "C" NOT NULL, act TEXT NOT NULL, subject TEXT COLLATE "C" NOT NULL,
  client TEXT COLLATE "C" NOT NULL, detail TEXT NOT NULL);
CREATE INDEX access_log_at ON access_log (at);
