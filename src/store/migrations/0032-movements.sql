-- How each source usually moves, by the form of its readings: one that stands still for longer than that is not trusted.
CREATE TABLE movements (
  source TEXT NOT NULL,
  form TEXT NOT NULL,
  movement TEXT NOT NULL,
  PRIMARY KEY (source, form)
) STRICT, WITHOUT ROWID;
