-- a refresh token that was used has a random `salt`, from which and from itself its one successor is derived
ALTER TABLE login_tokens ADD COLUMN salt TEXT NOT NULL DEFAULT '';
