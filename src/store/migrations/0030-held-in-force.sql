-- How many actions wait now, by the reason: `/readyz` asks this in a change window, also beside 100,000 decisions in force. (`decision` and
-- `ended_seq` too: SQLite asks them again.)
CREATE INDEX decisions_held ON decisions (reason, decision, ended_seq, action, target) WHERE ended_seq IS NULL AND decision = 'hold';
