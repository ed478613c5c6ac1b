-- Messages to people before something of theirs is acted on: one row for an episode, an owner, a round and a stage, so that none is sent twice.
-- `ahead_ms`: how long before the deadline; 0: the first. `open`: 0 once the episode is over. Acting rests on it.
CREATE TABLE notices (
  id TEXT PRIMARY KEY,
  episode_id TEXT NOT NULL,
  rule TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  target TEXT NOT NULL,
  address TEXT NOT NULL,
  print TEXT NOT NULL,
  round INTEGER NOT NULL,
  before_ms INTEGER NOT NULL,
  ahead_ms INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'sending', 'delivered', 'refused', 'doubt', 'cancelled', 'mended')),
  created_at INTEGER NOT NULL,
  due_at INTEGER,
  until INTEGER,
  delivered_at INTEGER,
  attempts INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  note TEXT,
  content TEXT NOT NULL,
  remind TEXT NOT NULL,
  open INTEGER NOT NULL,
  UNIQUE (episode_id, address, round, ahead_ms)
) STRICT;
CREATE INDEX notices_due ON notices (next_at) WHERE status IN ('waiting', 'sending');
CREATE INDEX notices_open ON notices (episode_id) WHERE open = 1;
CREATE INDEX notices_newest ON notices (created_at, id);
CREATE INDEX notices_subject ON notices (subject);
CREATE INDEX notices_address ON notices (address);
