-- The organization: people, devices, services, bundles, the event log, credentials.
-- Times of records are epoch nanoseconds (int64), times of events epoch milliseconds. Flags are 'TRUE' or 'FALSE'.

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- Totals of the two large tables, kept by triggers: counting a million rows for each page would cost more than the page.
CREATE TABLE tally (
  name TEXT PRIMARY KEY,
  n    INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO tally VALUES ('device', 0), ('enduser', 0);

CREATE TABLE device (
  pk              INTEGER PRIMARY KEY,
  device_id       TEXT NOT NULL,
  serial          TEXT NOT NULL,
  friendly_name   TEXT NOT NULL,
  ownership       TEXT NOT NULL,
  platform        TEXT NOT NULL,
  model           TEXT NOT NULL,
  architecture    TEXT NOT NULL,
  registered      TEXT NOT NULL,
  banned          TEXT NOT NULL,
  os              TEXT NOT NULL,
  app_version     TEXT NOT NULL,
  roles           TEXT NOT NULL,  -- JSON array
  last_login      INTEGER NOT NULL,
  login_count     INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  mdm_timestamp   INTEGER NOT NULL,  -- 0: never synced
  mdm_source      TEXT NOT NULL,
  mdm_compromised TEXT NOT NULL,
  mdm_compliant   TEXT NOT NULL,
  trust_entity    INTEGER NOT NULL,
  trust_override  INTEGER NOT NULL,
  trust_access    INTEGER NOT NULL,
  override_active TEXT NOT NULL,
  trust_level     TEXT NOT NULL,
  trust_updated   INTEGER NOT NULL,
  factors         TEXT NOT NULL  -- JSON array
);
CREATE UNIQUE INDEX device_by_id ON device (device_id);
CREATE INDEX device_by_serial ON device (serial);
CREATE INDEX device_by_name ON device (friendly_name);
CREATE INDEX device_by_model ON device (model);
CREATE INDEX device_by_created ON device (created_at);
CREATE TRIGGER device_added AFTER INSERT ON device BEGIN UPDATE tally SET n = n + 1 WHERE name = 'device'; END;
CREATE TRIGGER device_gone AFTER DELETE ON device BEGIN UPDATE tally SET n = n - 1 WHERE name = 'device'; END;

CREATE TABLE enduser (
  pk              INTEGER PRIMARY KEY,
  email           TEXT NOT NULL COLLATE NOCASE,
  name            TEXT NOT NULL,
  groups          TEXT NOT NULL,  -- names, separated by commas
  roles           TEXT NOT NULL,  -- JSON array
  last_login      INTEGER NOT NULL,
  login_count     INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  trust_entity    INTEGER NOT NULL,
  trust_override  INTEGER NOT NULL,
  trust_access    INTEGER NOT NULL,
  override_active TEXT NOT NULL,
  trust_level     TEXT NOT NULL,
  trust_updated   INTEGER NOT NULL,
  factors         TEXT NOT NULL
);
CREATE UNIQUE INDEX enduser_by_email ON enduser (email);
CREATE INDEX enduser_by_name ON enduser (name);
CREATE INDEX enduser_by_created ON enduser (created_at);
CREATE TRIGGER enduser_added AFTER INSERT ON enduser BEGIN UPDATE tally SET n = n + 1 WHERE name = 'enduser'; END;
CREATE TRIGGER enduser_gone AFTER DELETE ON enduser BEGIN UPDATE tally SET n = n - 1 WHERE name = 'enduser'; END;

-- Who is registered on which device, and the client certificate that this gave; '' when it was revoked.
CREATE TABLE mapping (
  enduser_pk  INTEGER NOT NULL,
  device_pk   INTEGER NOT NULL,
  certificate TEXT NOT NULL,
  issued_at   INTEGER NOT NULL,
  PRIMARY KEY (enduser_pk, device_pk)
) WITHOUT ROWID;
CREATE INDEX mapping_by_device ON mapping (device_pk, enduser_pk);

CREATE TABLE revoked_certificate (
  certificate TEXT PRIMARY KEY,
  serial      TEXT NOT NULL,
  device_id   TEXT NOT NULL,
  email       TEXT NOT NULL,
  issued_at   INTEGER NOT NULL,
  revoked_at  INTEGER NOT NULL,
  reason      TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX revoked_by_serial ON revoked_certificate (serial);

-- A deleted service stays, with deleted_at and deleted_by, and is listed no more; so service_id is unique among the living.
CREATE TABLE service (
  pk              INTEGER PRIMARY KEY,
  service_id      TEXT NOT NULL,
  name            TEXT NOT NULL,
  cluster         TEXT NOT NULL,
  type            TEXT NOT NULL,
  discovery       TEXT NOT NULL,
  version         INTEGER NOT NULL,
  description     TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  created_by      TEXT NOT NULL,
  updated_at      INTEGER NOT NULL,
  updated_by      TEXT NOT NULL,
  deleted_at      INTEGER NOT NULL,
  deleted_by      TEXT NOT NULL,
  external        TEXT NOT NULL,
  oidc_enabled    TEXT NOT NULL,
  oidc_client     TEXT NOT NULL,  -- JSON object
  spec            TEXT NOT NULL,  -- as it was posted
  user_facing     TEXT NOT NULL,
  protocol        TEXT NOT NULL,
  domain          TEXT NOT NULL,
  port            INTEGER NOT NULL,
  enabled         TEXT NOT NULL
);
CREATE UNIQUE INDEX service_living ON service (name, cluster) WHERE deleted_at = 0;
CREATE UNIQUE INDEX service_by_id ON service (service_id) WHERE deleted_at = 0;

CREATE TABLE agent (
  name    TEXT PRIMARY KEY,
  cluster TEXT NOT NULL
) WITHOUT ROWID;

-- One row for each agent each time a service is enabled or disabled.
CREATE TABLE notification (
  seq        INTEGER PRIMARY KEY,
  agent      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  service_id TEXT NOT NULL,
  enabled    TEXT NOT NULL
);

CREATE TABLE bundle (
  id               TEXT PRIMARY KEY,
  bundle_name      TEXT NOT NULL,
  description      TEXT NOT NULL,
  is_admin_created INTEGER NOT NULL,
  bulk_connect     INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX bundle_by_name ON bundle (bundle_name);

CREATE TABLE bundled_service (
  pk         INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  bundle_id  TEXT NOT NULL REFERENCES bundle (id) ON DELETE CASCADE,
  service_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (bundle_id, service_id)
);

-- `body` is the event's JSON without its text, which the list calls `message` and the feed `messages`.
CREATE TABLE event (
  seq          INTEGER PRIMARY KEY,
  id           TEXT NOT NULL UNIQUE,
  external_id  TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  severity     INTEGER NOT NULL,  -- 0 DEBUG … 3 ERROR
  type         TEXT NOT NULL,
  sub_type     TEXT NOT NULL,
  action       TEXT NOT NULL,
  device_id    TEXT NOT NULL,
  serial       TEXT NOT NULL,
  email        TEXT NOT NULL COLLATE NOCASE,
  service_name TEXT NOT NULL,
  container_id TEXT NOT NULL,
  message      TEXT NOT NULL,
  body         TEXT NOT NULL
);
CREATE INDEX event_by_time ON event (created_at);

CREATE TABLE credential (
  hash       TEXT PRIMARY KEY,  -- SHA-256 of the secret
  kind       TEXT NOT NULL,     -- api_key | refresh_token | admin_token
  name       TEXT NOT NULL,
  scope      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What really happened, in order: the judge of whoever claims to have done something.
CREATE TABLE effect (
  seq        INTEGER PRIMARY KEY,
  created_at INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  target     TEXT NOT NULL,
  actor      TEXT NOT NULL,
  via        TEXT NOT NULL,
  detail     TEXT NOT NULL
);
