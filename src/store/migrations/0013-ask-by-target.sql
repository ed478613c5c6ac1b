-- Acting asks about one target at a time: what it asks for is found by an index, however much else is stored.

CREATE INDEX intents_by_target ON intents (target, status, outcome);
CREATE INDEX attempts_by_intent ON attempts (intent_id);
CREATE INDEX claims_by_intent ON claims (intent_id);
CREATE INDEX decisions_by_target ON decisions (target) WHERE ended_seq IS NULL;

-- What episodes that are not closed have seen in the wanted state (episodes.seen_so_of), by target.
CREATE TABLE episode_seen (
  target TEXT NOT NULL,
  action TEXT NOT NULL,
  episode_id TEXT NOT NULL REFERENCES episodes (id),
  PRIMARY KEY (target, action, episode_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX episode_seen_by_episode ON episode_seen (episode_id);
INSERT INTO episode_seen (target, action, episode_id)
SELECT DISTINCT substr(seen.value, instr(seen.value, ' ') + 1), substr(seen.value, 1, instr(seen.value, ' ') - 1), episodes.id
FROM episodes, json_each(episodes.seen_so_of) AS seen
WHERE episodes.state <> 'closed';

-- Attempts by minute (epoch): the count of 24 hours is asked before every call.
CREATE TABLE attempt_counts (
  action TEXT NOT NULL,
  minute INTEGER NOT NULL,
  n INTEGER NOT NULL,
  PRIMARY KEY (action, minute)
) STRICT, WITHOUT ROWID;
INSERT INTO attempt_counts (action, minute, n) SELECT action, sent_at / 60000, count(*) FROM attempts GROUP BY 1, 2;
