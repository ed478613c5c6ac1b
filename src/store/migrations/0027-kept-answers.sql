-- Requests with an Idempotency-Key, for a day: the answer that a repeat gets. Before there is one, the run that the request began.
-- `id` is a hash of the token and the key, `request` one of the method, the path and the body.
CREATE TABLE kept_answers (
  id TEXT PRIMARY KEY,
  request TEXT NOT NULL,
  begun_at INTEGER NOT NULL,
  run TEXT,
  status INTEGER,
  headers TEXT,
  body BLOB
) STRICT;
CREATE INDEX kept_answers_by_age ON kept_answers (begun_at);
