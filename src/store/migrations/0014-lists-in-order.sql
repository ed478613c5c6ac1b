-- A list is read by the page, newest first: for each filter that it takes, an index has its rows in that order.

CREATE INDEX intents_newest ON intents (created_at, id);
CREATE INDEX intents_by_status ON intents (status, created_at, id);
CREATE INDEX intents_by_outcome ON intents (outcome, created_at, id) WHERE outcome IS NOT NULL;
DROP INDEX intents_status;
CREATE INDEX intents_status ON intents (status, outcome, created_at, id);

CREATE INDEX claims_newest ON claims (opened_at, id);
CREATE INDEX claims_by_status ON claims (status, opened_at, id);
CREATE INDEX claims_by_subject ON claims (subject, status, opened_at, id);

-- Decisions are in the order in which they were written: equal entries of an index are too.
CREATE INDEX decisions_by_run ON decisions (run_seq);
CREATE INDEX decisions_by_rule ON decisions (rule);
CREATE INDEX decisions_by_answer ON decisions (decision);
CREATE INDEX decisions_of_target ON decisions (target);
DROP INDEX decisions_subject;
CREATE INDEX decisions_subject ON decisions (subject);

-- Whether a plan is over is found in the index: its row is long.
CREATE INDEX plans_newest ON plans (created_at, id, status, expires_at);
DROP INDEX plans_status;
CREATE INDEX plans_status ON plans (status, created_at, id, expires_at);

CREATE INDEX notifications_newest ON notifications (at, id);
CREATE INDEX notifications_by_status ON notifications (status, at, id);
