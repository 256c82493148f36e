-- name: authorizations.add
-- Add the request of a client to log a person in.
INSERT INTO authorizations (
  id, client, client_name, redirect_uri, state, challenge, asked, browser, subject, person, level, workspace, until,
  code, login, used_at, expires_at)
VALUES (:id, :client, :client_name, :redirect_uri, :state, :challenge, :level, '', '', '', '', '', '', '', '', '', :until)

-- name: authorizations.make_room
-- Delete requests for which no one has logged in, except the newest :most.
DELETE FROM authorizations WHERE id IN (
  SELECT id FROM authorizations WHERE subject = '' ORDER BY expires_at, id LIMIT (
    SELECT CASE WHEN count(*) > :most THEN count(*) - :most ELSE 0 END FROM authorizations WHERE subject = ''))

-- name: authorizations.by_id
-- An unexpired request to log in that has no code, or the code with the hash :code.
SELECT id, client, client_name, redirect_uri, state, challenge, asked, browser, subject, person, level, workspace,
  until, code, login, used_at, expires_at
FROM authorizations WHERE id = :id AND (code = '' OR code = :code) AND expires_at > :now

-- name: authorizations.by_code
-- The request for which a code was issued, even if the code was used.
SELECT id, client, client_name, redirect_uri, challenge, login, used_at, expires_at
FROM authorizations WHERE code = :code

-- name: authorizations.identify
-- Record who has logged in with this browser.
UPDATE authorizations SET browser = :browser, subject = :subject, person = :person, level = :level,
  workspace = :project, until = :until
WHERE id = :id AND code = '' AND used_at = '' AND (browser = '' OR browser = :browser) AND expires_at > :now

-- name: authorizations.grant
-- Issue a code, once.
UPDATE authorizations SET code = :code, login = :login, expires_at = :until
WHERE id = :id AND code = '' AND expires_at > :now

-- name: authorizations.use
-- Use a code, once.
UPDATE authorizations SET used_at = :now WHERE code = :code AND used_at = ''

-- name: authorizations.deny
-- Deny a request to log in, once: until it expires it stays without a code, like one that was used.
UPDATE authorizations SET code = '', login = '', used_at = :now WHERE id = :id AND used_at = ''

-- name: authorizations.remove_of
-- End the requests of a person.
DELETE FROM authorizations WHERE subject = :subject

-- name: authorizations.tidy
-- Delete the requests that were not granted, and those whose code expired before :before.
DELETE FROM authorizations WHERE (code = '' AND expires_at < :now) OR expires_at < :before

-- name: logins.add
-- Add what a person grants to a client.
INSERT INTO logins (id, subject, person, client, client_name, level, workspace, created_at, used_at, expires_at)
VALUES (:id, :subject, :person, :client, :client_name, :level, :project, :now, :now, :until)

-- name: logins.by_id
-- What a person granted to a client.
SELECT id, subject, person, client, client_name, level, workspace, created_at, used_at, expires_at
FROM logins WHERE id = :id

-- name: logins.all
-- Every grant, the oldest first.
SELECT id, subject, person, client, client_name, level, workspace, created_at, used_at, expires_at
FROM logins ORDER BY created_at, id

-- name: logins.of_client
-- Whether a person has admitted a client.
SELECT 1 AS yes FROM logins WHERE client = :client LIMIT 1

-- name: logins.by_token
-- The grant of an access token, which may end before the login.
SELECT l.id, l.subject, l.person, l.client, l.client_name, l.level, l.workspace, l.created_at, l.used_at,
  CASE WHEN t.expires_at < l.expires_at THEN t.expires_at ELSE l.expires_at END AS expires_at
FROM login_tokens t JOIN logins l ON l.id = t.login
WHERE t.hash = :hash AND t.kind = 'access' AND t.expires_at > :now AND l.expires_at > :now

-- name: logins.use
-- Record that a client has fetched new tokens.
UPDATE logins SET used_at = :now WHERE id = :id

-- name: logins.remove
-- Revoke a grant.
DELETE FROM logins WHERE id = :id

-- name: logins.tidy
-- Delete the grants that have expired or no longer have a token.
DELETE FROM logins WHERE expires_at < :now OR (created_at < :before AND id NOT IN (SELECT login FROM login_tokens))

-- name: login_tokens.add
-- Add a token, unless it is there; the registry stores only its hash.
INSERT INTO login_tokens (hash, login, kind, expires_at, rotated_at) VALUES (:hash, :login, :kind, :until, '')
ON CONFLICT (hash) DO NOTHING

-- name: login_tokens.by_hash
-- A token of a client, whatever its state.
SELECT t.hash, t.login, t.kind, t.expires_at, t.rotated_at, t.salt
FROM login_tokens t JOIN logins l ON l.id = t.login WHERE t.hash = :hash AND l.client = :client

-- name: login_tokens.rotate
-- Use a refresh token that is new, or was first used after :grace.
UPDATE login_tokens SET rotated_at = CASE WHEN rotated_at = '' THEN :now ELSE rotated_at END,
  salt = CASE WHEN salt = '' THEN :salt ELSE salt END
WHERE hash = :hash AND kind = 'refresh' AND expires_at > :now AND (rotated_at = '' OR rotated_at > :grace)
  AND login IN (SELECT id FROM logins WHERE client = :client AND expires_at > :now)

-- name: login_tokens.remove_of
-- Revoke the tokens of a grant.
DELETE FROM login_tokens WHERE login = :login

-- name: login_tokens.tidy
-- Delete the tokens that have expired.
DELETE FROM login_tokens WHERE expires_at < :now

-- name: logins.remove_of_subject
-- Revoke every grant of a person.
DELETE FROM logins WHERE subject = :subject

-- name: login_tokens.remove_of_subject
-- Revoke every token of a person.
DELETE FROM login_tokens WHERE login IN (SELECT id FROM logins WHERE subject = :subject)

-- name: logins.ended
-- Whether there is anything to delete.
SELECT 1 AS yes FROM login_tokens WHERE expires_at < :now
UNION ALL SELECT 1 FROM authorizations WHERE (code = '' AND expires_at < :now) OR expires_at < :before
UNION ALL SELECT 1 FROM oauth_clients WHERE used_at = '' AND created_at < :before
UNION ALL SELECT 1 FROM logins WHERE expires_at < :now
LIMIT 1
