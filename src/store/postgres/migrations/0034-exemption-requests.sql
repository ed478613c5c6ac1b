-- As in SQLite.
CREATE TABLE trustward.exemption_requests (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  person text COLLATE "C" NOT NULL,
  device text COLLATE "C" NOT NULL,
  serial text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  rule text COLLATE "C",
  episode_id text COLLATE "C",
  reason text COLLATE "C" NOT NULL,
  for_ms bigint NOT NULL,
  asked_at bigint NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('waiting', 'granted', 'refused', 'withdrawn')),
  answered_at bigint,
  answered_by text COLLATE "C",
  sentence text COLLATE "C",
  exemption_id text COLLATE "C",
  PRIMARY KEY (org, id)
);
CREATE INDEX exemption_requests_newest ON trustward.exemption_requests (org, asked_at, id);
CREATE INDEX exemption_requests_by_status ON trustward.exemption_requests (org, status, asked_at, id);
CREATE INDEX exemption_requests_by_person ON trustward.exemption_requests (org, person, asked_at, id);
SELECT trustward.keep_apart('exemption_requests');
