-- As in SQLite.
CREATE TABLE trustward.signal_streams (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  receiver text COLLATE "C" NOT NULL,
  settings text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  due_at bigint NOT NULL,
  failures bigint NOT NULL,
  note text COLLATE "C",
  delivered_at bigint,
  verified_at bigint,
  PRIMARY KEY (org, id),
  UNIQUE (org, receiver)
);
SELECT trustward.keep_apart('signal_streams');

CREATE TABLE trustward.signal_sets (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  stream text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  jti text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, stream, seq, jti)
);
SELECT trustward.keep_apart('signal_sets');

ALTER TABLE trustward.endpoint_tokens DROP CONSTRAINT endpoint_tokens_scope_check;
ALTER TABLE trustward.endpoint_tokens ADD CHECK (scope IN ('signals', 'read', 'trigger', 'approve', 'admin'));
