-- Who acts for an organization. Times are the database's: workers' clocks may differ. `wait_ms`: how long the holder waited before it acted, for
-- what the former one may have sent. `is_clean`: nobody acts, and the last actor has ended everything that it sent. `commits`: how many commits
-- of acting there were; the number of the last one is recorded outside too, so that a replica without it is noticed.
CREATE TABLE trustward.leases (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  fence bigint NOT NULL,
  holder text COLLATE "C" NOT NULL,
  backend_pid integer NOT NULL,
  backend_start timestamptz NOT NULL,
  beaten_at timestamptz NOT NULL,
  lease_ms bigint NOT NULL,
  wait_ms bigint NOT NULL,
  is_clean boolean NOT NULL,
  commits bigint NOT NULL,
  PRIMARY KEY (org)
);
SELECT trustward.keep_apart('leases');
