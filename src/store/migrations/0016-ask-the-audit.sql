-- The audit is asked what happened to one target, and what one person did: not by reading all of it. An entry whose bytes are no JSON
-- was tampered with, and is about nothing.
CREATE INDEX audit_by_target ON audit (CASE WHEN json_valid(bytes) THEN json_extract(bytes, '$.body.target') END);
-- `ana (command line)` and `ana (token admin)` are both `ana`.
CREATE INDEX audit_by_actor ON audit (CASE WHEN json_valid(bytes)
  THEN substr(json_extract(bytes, '$.body.by'), 1, instr(json_extract(bytes, '$.body.by') || ' (', ' (') - 1) END);

-- The intents of one target, and the decisions of one action, newest first.
CREATE INDEX intents_of_target ON intents (target, created_at, id);
CREATE INDEX decisions_by_action ON decisions (action);

-- A run over chosen rules says nothing of the others. Runs of earlier versions count as whole.
ALTER TABLE runs ADD COLUMN scoped INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_by_status ON runs (status);
