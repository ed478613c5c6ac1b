-- The words of the design: what a person commanded is the operator's, and a match has the reason `rule_matches`, its end `cleared`.
-- Audit entries and sealed plans keep the codes that they were written with: readers map them (domain/decision.ts).
ALTER TABLE runs RENAME COLUMN steering TO operator;
UPDATE decisions SET reason = 'rule_matches' WHERE reason = 'trouble';
UPDATE decisions SET reason = 'cleared' WHERE reason = 'trouble_over';
