-- As in SQLite.
CREATE TABLE trustward.person_links_refused (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  person text COLLATE "C" NOT NULL,
  before_at bigint NOT NULL,
  PRIMARY KEY (org, person)
);
SELECT trustward.keep_apart('person_links_refused');
