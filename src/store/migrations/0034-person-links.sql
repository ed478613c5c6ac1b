-- Links to the page of this person, whose address is in lower case, that were made before this time are refused. Nothing that acts rests on it.
CREATE TABLE person_links_refused (person TEXT PRIMARY KEY, before_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
