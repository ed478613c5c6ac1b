-- The decisions in force in a run: those of its rules that it or an earlier run wrote (`ended_seq` too: SQLite asks it again).
DROP INDEX decisions_standing;
CREATE INDEX decisions_standing ON decisions (rule, run_seq, ended_seq) WHERE ended_seq IS NULL;

-- Which decisions were in force in an earlier run, too: by rule, those that ended after it. Each decision that ends writes one entry.
CREATE INDEX decisions_ended ON decisions (rule, ended_seq, run_seq) WHERE ended_seq IS NOT NULL;

-- A plan without its intents, which may be megabytes: how many they are, and the rule whose claims they release. Intents that are no JSON
-- were tampered with. Each change of a plan's status counts its intents again.
CREATE INDEX plans_heads ON plans (id, digest, run_id, mode, status, created_at, expires_at, decided_at, decided_by, decided_reason, superseded_by,
  CASE WHEN json_valid(intents) THEN json_array_length(intents) END,
  CASE WHEN json_valid(intents) AND json_extract(intents, '$[0].released') THEN json_extract(intents, '$[0].basis[0].rule') END);
