-- As in SQLite. Acting rests on it. No trigger follows its changes, since a neighbouring version refuses one that it does not know: the statements
-- that write it note them.
CREATE TABLE trustward.notices (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  episode_id text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  print text COLLATE "C" NOT NULL,
  round bigint NOT NULL,
  before_ms bigint NOT NULL,
  ahead_ms bigint NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('waiting', 'sending', 'delivered', 'refused', 'doubt', 'cancelled', 'mended')),
  created_at bigint NOT NULL,
  due_at bigint,
  until bigint,
  delivered_at bigint,
  attempts bigint NOT NULL,
  next_at bigint NOT NULL,
  note text COLLATE "C",
  content text COLLATE "C" NOT NULL,
  remind text COLLATE "C" NOT NULL,
  open bigint NOT NULL,
  PRIMARY KEY (org, id),
  UNIQUE (org, episode_id, address, round, ahead_ms)
);
CREATE INDEX notices_due ON trustward.notices (org, next_at) WHERE status IN ('waiting', 'sending');
CREATE INDEX notices_open ON trustward.notices (org, episode_id) WHERE open = 1;
CREATE INDEX notices_newest ON trustward.notices (org, created_at, id);
CREATE INDEX notices_subject ON trustward.notices (org, subject);
CREATE INDEX notices_address ON trustward.notices (org, address);
SELECT trustward.keep_apart('notices');
