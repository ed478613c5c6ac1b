-- What waiting plans have in common is stored once: a plan lists, in place of each such intent, the number of its row here. A plan that was
-- answered, or that a person made, has its intents in its own row, as plans of earlier versions do.
CREATE TABLE planned_intents (
  no INTEGER PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL
) STRICT;

-- Of a plan that was superseded long ago: how many intents it had, and how its successors differ. Null: its intents are kept.
ALTER TABLE plans ADD COLUMN dropped TEXT;
CREATE INDEX plans_to_drop ON plans (created_at, id) WHERE status = 'superseded' AND dropped IS NULL;

DROP INDEX plans_heads;
CREATE INDEX plans_heads ON plans (id, digest, run_id, mode, status, created_at, expires_at, decided_at, decided_by, decided_reason, superseded_by,
  dropped, CASE WHEN json_valid(intents) THEN json_array_length(intents) END,
  CASE WHEN json_valid(intents) AND json_extract(intents, '$[0].released') THEN json_extract(intents, '$[0].basis[0].rule') END);

-- What is removed is found by its age, and what depends on it by these.
CREATE INDEX episodes_closed ON episodes (closed_at) WHERE state = 'closed';
CREATE INDEX intent_episodes_by_episode ON intent_episodes (episode_id);
CREATE INDEX claims_by_episode ON claims (episode_id);
CREATE INDEX rejected_intents_by_episode ON rejected_intents (episode_id);
CREATE INDEX runs_by_plan ON runs (plan_id) WHERE plan_id IS NOT NULL;
