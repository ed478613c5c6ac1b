-- How each source usually moves, by the form of its readings: one that stands still for longer than that is not trusted.
CREATE TABLE trustward.movements (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  source text COLLATE "C" NOT NULL,
  form text COLLATE "C" NOT NULL,
  movement text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, source, form)
);
SELECT trustward.keep_apart('movements');
