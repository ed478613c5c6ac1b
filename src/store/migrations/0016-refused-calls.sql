-- A request that the server refused before doing anything (401, 403) is no attempt: it is kept, and counts for nothing.
ALTER TABLE attempts ADD COLUMN refused INTEGER NOT NULL DEFAULT 0;
-- How often in a row, and a mark of the credential (docs/decisions/0038): the secret cannot be found from it.
ALTER TABLE intents ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;
ALTER TABLE intents ADD COLUMN refused_with TEXT;
