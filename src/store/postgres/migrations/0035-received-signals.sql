-- As in SQLite.
CREATE TABLE trustward.signals (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  received_at bigint NOT NULL,
  transmitter text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  device_id text COLLATE "C",
  serial_number text COLLATE "C",
  email text COLLATE "C",
  service_id text COLLATE "C",
  service_name text COLLATE "C",
  type text COLLATE "C" NOT NULL,
  sub_type text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  severity text COLLATE "C" NOT NULL,
  result text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, id)
);
CREATE INDEX signals_oldest ON trustward.signals (org, received_at, id);
CREATE TABLE trustward.signal_ids (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  transmitter text COLLATE "C" NOT NULL,
  jti text COLLATE "C" NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (org, transmitter, jti)
);
CREATE INDEX signal_ids_until ON trustward.signal_ids (org, until);
CREATE TABLE trustward.signal_counts (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  transmitter text COLLATE "C" NOT NULL,
  what text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (org, transmitter, what)
);
CREATE TABLE trustward.transmitters (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  name text COLLATE "C" NOT NULL,
  contact_at bigint,
  known_from bigint,
  known_to bigint,
  stream text COLLATE "C",
  PRIMARY KEY (org, name)
);
SELECT trustward.keep_apart('signals');
SELECT trustward.keep_apart('signal_ids');
SELECT trustward.keep_apart('signal_counts');
SELECT trustward.keep_apart('transmitters');
