-- Policies with the services that they are attached to, what is known of API keys besides their hash, and the friendly names of services.

ALTER TABLE service ADD COLUMN friendly_name TEXT NOT NULL DEFAULT '';
UPDATE service SET friendly_name = json_extract(spec, '$.metadata.friendly_name')
  WHERE json_valid(spec) AND json_type(spec, '$.metadata.friendly_name') = 'text';

-- A deleted policy stays, with deleted_at and deleted_by, and is listed no more. Times are in nanoseconds.
CREATE TABLE policy (
  pk          INTEGER PRIMARY KEY,
  policy_id   TEXT NOT NULL UNIQUE,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,
  spec        TEXT NOT NULL,  -- as it was posted
  version     INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  created_by  TEXT NOT NULL,
  updated_at  INTEGER NOT NULL,
  updated_by  TEXT NOT NULL,
  deleted_at  INTEGER NOT NULL,
  deleted_by  TEXT NOT NULL
);
CREATE UNIQUE INDEX policy_living ON policy (name) WHERE deleted_at = 0;

CREATE TABLE policy_attachment (
  policy_id   TEXT NOT NULL REFERENCES policy (policy_id),
  service_id  TEXT NOT NULL,
  enabled     TEXT NOT NULL,
  attached_at INTEGER NOT NULL,
  attached_by TEXT NOT NULL,
  PRIMARY KEY (service_id, policy_id)
) WITHOUT ROWID;

-- Of keys that the API made or changed. Times are in milliseconds, as those of credentials.
CREATE TABLE api_key (
  hash        TEXT PRIMARY KEY REFERENCES credential (hash),
  description TEXT NOT NULL,
  created_by  TEXT NOT NULL,
  updated_at  INTEGER NOT NULL,
  updated_by  TEXT NOT NULL
) WITHOUT ROWID;
