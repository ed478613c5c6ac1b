-- Who let a plan through a change window, when and why. Null: nobody did.
ALTER TABLE plans ADD COLUMN break_glass TEXT;
DROP INDEX plans_heads;
CREATE INDEX plans_heads ON plans (id, digest, run_id, mode, status, created_at, expires_at, decided_at, decided_by, decided_reason, superseded_by,
  dropped, break_glass, CASE WHEN json_valid(intents) THEN json_array_length(intents) END,
  CASE WHEN json_valid(intents) AND json_extract(intents, '$[0].released') THEN json_extract(intents, '$[0].basis[0].rule') END);
-- What waits now, by its reason.
CREATE INDEX decisions_held ON decisions (reason, action, target) WHERE ended_seq IS NULL AND decision = 'hold';
