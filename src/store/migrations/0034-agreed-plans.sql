-- Who has said yes to a plan that more than one person is asked about, and what it waits for. Null: nobody has.
ALTER TABLE plans ADD COLUMN agreed TEXT;
DROP INDEX plans_heads;
CREATE INDEX plans_heads ON plans (id, digest, run_id, mode, status, created_at, expires_at, decided_at, decided_by, decided_reason, superseded_by,
  dropped, break_glass, agreed, CASE WHEN json_valid(intents) THEN json_array_length(intents) END,
  CASE WHEN json_valid(intents) AND json_extract(intents, '$[0].released') THEN json_extract(intents, '$[0].basis[0].rule') END);
