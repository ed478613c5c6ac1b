-- What people asked for that a worker does: the operation with what was said, and its answer. Both name subjects, so they are kept apart by
-- organization; the job that leads to a row has its id alone. The bytes are V8's serialization, which later versions of Node read.
CREATE TABLE trustward.asks (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  operation text COLLATE "C" NOT NULL,
  said bytea NOT NULL,
  answer bytea,
  asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (org, id)
);
SELECT trustward.keep_apart('asks');
