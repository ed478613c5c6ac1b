-- The tables of SQLite's migration 29, for many organizations in one database. Each row belongs to one (`org`), and a session sees the rows of
-- the organization that it names in `trustward.org`. Texts are in the order of their bytes, as in SQLite. Documents stay texts: digests are over
-- their bytes.

-- The organization of a session. Errors: when it has named none. Empty counts as none: a name that was set for a transaction leaves it.
CREATE FUNCTION trustward.organization() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
  RETURN nullif(current_setting('trustward.org'), '');

-- A text of PostgreSQL has no character 0 and no half of a surrogate pair. The driver writes them as U+0001 and a name
-- (src/store/postgres/text.ts); this does so within a document, where JSON escapes them.
CREATE FUNCTION trustward.storable(document text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF position('\u000' IN document) > 0 THEN
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u0001', '\1\\u00011', 'g');
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\u00010', 'g');
  END IF;
  IF position('\ud' IN lower(document)) > 0 THEN
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})(?!\\ud[c-f][0-9a-f]{2})', '\1\\u0001\2', 'gi');
    -- Whole pairs are set aside: `\v` is no escape of JSON.
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})', '\1\\v\2\\v\3', 'gi');
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u(d[c-f][0-9a-f]{2})', '\1\\u0001\2', 'gi');
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\v(d[89a-f][0-9a-f]{2})', '\1\\u\2', 'gi');
  END IF;
  RETURN document;
END $$;

-- A list or an object within such a document, as it was written.
CREATE FUNCTION trustward.written(document text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  IF position('\u0001' IN document) > 0 THEN
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u0001(d[89a-f][0-9a-f]{2})', '\1\\u\2', 'gi');
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u00010', '\1\\u0000', 'g');
    document := regexp_replace(document, '(?<!\\)((?:\\\\)*)\\u00011', '\1\\u0001', 'g');
  END IF;
  RETURN document;
END $$;

-- What SQLite makes of a value within a document: 1 and 0 of true and false, the text of a list or an object.
CREATE FUNCTION trustward.json_value(value json) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN CASE json_typeof(value) WHEN 'boolean' THEN CASE value #>> '{}' WHEN 'true' THEN '1' ELSE '0' END
    WHEN 'object' THEN trustward.written(value::text) WHEN 'array' THEN trustward.written(value::text) ELSE value #>> '{}' END;

-- What the store's statements ask SQLite's functions for. A path is `$.name[0].name`.
CREATE FUNCTION trustward.json_path(path text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN string_to_array(substr(regexp_replace(path, '\[(\d+)\]', '.\1', 'g'), 3), '.');

-- A member of a document. Null: it has none.
CREATE FUNCTION trustward.json_extract(document text, path text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN trustward.json_value(trustward.storable(document)::json #> trustward.json_path(path));
END $$;
CREATE OPERATOR trustward.->> (LEFTARG = text, RIGHTARG = text, FUNCTION = trustward.json_extract);

CREATE FUNCTION trustward.json_valid(document text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN document::json IS NOT NULL;
EXCEPTION WHEN data_exception THEN
  RETURN false;
END $$;

-- The elements of a list, with their places. Few are expected, so that what they name is looked up in an index; a function that is STRICT
-- keeps this estimate.
CREATE FUNCTION trustward.json_each(document text) RETURNS TABLE (key bigint, value text, type text)
LANGUAGE sql IMMUTABLE STRICT ROWS 10 PARALLEL SAFE AS $$
  SELECT place - 1, trustward.json_value(element), CASE
      WHEN json_typeof(element) <> 'number' THEN json_typeof(element)
      WHEN element #>> '{}' ~ '^-?[0-9]+$' THEN 'integer' ELSE 'real' END
  FROM json_array_elements(trustward.storable(document)::json) WITH ORDINALITY AS each (element, place)
$$;
CREATE FUNCTION trustward.json_each(document text, path text) RETURNS TABLE (key bigint, value text, type text)
LANGUAGE sql IMMUTABLE STRICT ROWS 10 PARALLEL SAFE AS $$
  SELECT * FROM trustward.json_each(trustward.json_extract(document, path))
$$;
CREATE FUNCTION trustward.jsonb_each(document text) RETURNS TABLE (key bigint, value text, type text)
LANGUAGE sql IMMUTABLE STRICT ROWS 10 PARALLEL SAFE AS $$ SELECT * FROM trustward.json_each(document) $$;
CREATE FUNCTION trustward.jsonb_each(document text, path text) RETURNS TABLE (key bigint, value text, type text)
LANGUAGE sql IMMUTABLE STRICT ROWS 10 PARALLEL SAFE AS $$ SELECT * FROM trustward.json_each(document, path) $$;

CREATE FUNCTION trustward.json_list(elements text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN to_json(coalesce(elements, '{}'))::text;
CREATE AGGREGATE trustward.json_group_array(text) (SFUNC = array_append, STYPE = text[], FINALFUNC = trustward.json_list);

CREATE FUNCTION trustward.instr(document text, part text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN position(part IN document);
CREATE FUNCTION trustward.max(one bigint, other bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN greatest(one, other);

-- Of documents that somebody changed too: those have no members.
CREATE FUNCTION trustward.member_of(document text, path text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN trustward.json_extract(document, path);
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END $$;
CREATE FUNCTION trustward.length_of(document text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN json_array_length(document::json);
EXCEPTION WHEN data_exception THEN
  RETURN NULL;
END $$;

-- One row for each organization. A unit of work locks it first: units of one organization are one after another, whoever makes them.
CREATE TABLE trustward.organizations (
  org text COLLATE "C" PRIMARY KEY DEFAULT trustward.organization()
);

CREATE TABLE trustward.meta (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  key text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, key)
);

CREATE TABLE trustward.runs (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  seq bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  daemon_mode text COLLATE "C" NOT NULL,
  run_trigger text COLLATE "C" NOT NULL,
  rules text COLLATE "C" NOT NULL,
  rule_set_hash text COLLATE "C" NOT NULL,
  started_at bigint NOT NULL,
  finished_at bigint,
  status text COLLATE "C" NOT NULL CHECK (status IN ('running', 'completed', 'aborted')),
  error text COLLATE "C",
  demo bigint NOT NULL,
  snapshot text COLLATE "C",
  tallies text COLLATE "C",
  plan_digest text COLLATE "C",
  plan_id text COLLATE "C",
  operator text COLLATE "C",
  rules_dir text COLLATE "C",
  scoped bigint NOT NULL DEFAULT 0,
  counts_with text COLLATE "C",
  findings bytea,
  PRIMARY KEY (org, seq),
  UNIQUE (org, id)
);
CREATE INDEX runs_by_end ON trustward.runs (org, finished_at);
CREATE INDEX runs_by_plan ON trustward.runs (org, plan_id) WHERE plan_id IS NOT NULL;
CREATE INDEX runs_by_status ON trustward.runs (org, status);
CREATE INDEX runs_over_lists ON trustward.runs (org, seq) WHERE counts_with IS NULL;
CREATE INDEX runs_whole ON trustward.runs (org, seq) WHERE status = 'completed' AND scoped = 0;

CREATE TABLE trustward.episodes (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  matching_since bigint NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('matching', 'clearing', 'frozen', 'closed')),
  state_since bigint NOT NULL,
  absent_since bigint,
  overridden_at bigint,
  closed_at bigint,
  close_reason text COLLATE "C",
  seen_so_of text COLLATE "C" NOT NULL DEFAULT '[]',
  PRIMARY KEY (org, id)
);
CREATE INDEX episodes_closed ON trustward.episodes (org, closed_at) WHERE state = 'closed';
CREATE UNIQUE INDEX episodes_open ON trustward.episodes (org, rule, kind, subject) WHERE state <> 'closed';

CREATE TABLE trustward.intents (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  plan_id text COLLATE "C",
  action text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  settings text COLLATE "C" NOT NULL,
  undo bigint NOT NULL,
  approved bigint NOT NULL,
  basis text COLLATE "C" NOT NULL,
  effect text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('planned', 'sent', 'settled', 'withdrawn')),
  outcome text COLLATE "C",
  attempts bigint NOT NULL,
  doubt_retries bigint NOT NULL,
  created_at bigint NOT NULL,
  sent_at bigint,
  settled_at bigint,
  note text COLLATE "C",
  released bigint NOT NULL DEFAULT 0,
  refusals bigint NOT NULL DEFAULT 0,
  refused_with text COLLATE "C",
  PRIMARY KEY (org, id)
);
CREATE INDEX intents_by_outcome ON trustward.intents (org, outcome, created_at, id) WHERE outcome IS NOT NULL;
CREATE INDEX intents_by_run ON trustward.intents (org, run_id);
CREATE INDEX intents_by_status ON trustward.intents (org, status, created_at, id);
CREATE INDEX intents_by_target ON trustward.intents (org, target, status, outcome);
CREATE INDEX intents_newest ON trustward.intents (org, created_at, id);
CREATE INDEX intents_of_target ON trustward.intents (org, target, created_at, id);
CREATE INDEX intents_status ON trustward.intents (org, status, outcome, created_at, id);

CREATE TABLE trustward.intent_episodes (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  intent_id text COLLATE "C" NOT NULL,
  episode_id text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  live bigint NOT NULL,
  PRIMARY KEY (org, intent_id, episode_id),
  FOREIGN KEY (org, intent_id) REFERENCES trustward.intents (org, id),
  FOREIGN KEY (org, episode_id) REFERENCES trustward.episodes (org, id)
);
CREATE INDEX intent_episodes_by_episode ON trustward.intent_episodes (org, episode_id);
CREATE UNIQUE INDEX intent_episodes_live ON trustward.intent_episodes (org, episode_id, action, target) WHERE live = 1;

CREATE TABLE trustward.attempts (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id bigint NOT NULL,
  intent_id text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  rules text COLLATE "C" NOT NULL,
  sent_at bigint NOT NULL,
  answered_at bigint,
  answer text COLLATE "C",
  run_id text COLLATE "C",
  refused bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (org, id),
  FOREIGN KEY (org, intent_id) REFERENCES trustward.intents (org, id)
);
-- As SQLite numbers them: one more than the greatest, and of this organization alone. Units of one organization do not run at the same time.
CREATE FUNCTION trustward.next_attempt() RETURNS bigint LANGUAGE sql VOLATILE RETURN (SELECT coalesce(max(id), 0) + 1 FROM trustward.attempts);
ALTER TABLE trustward.attempts ALTER id SET DEFAULT trustward.next_attempt();
CREATE INDEX attempts_by_action ON trustward.attempts (org, action, sent_at);
CREATE INDEX attempts_by_intent ON trustward.attempts (org, intent_id);
CREATE INDEX attempts_by_run ON trustward.attempts (org, run_id);

CREATE TABLE trustward.attempt_counts (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  action text COLLATE "C" NOT NULL,
  minute bigint NOT NULL,
  n bigint NOT NULL,
  PRIMARY KEY (org, action, minute)
);

CREATE TABLE trustward.claims (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  episode_id text COLLATE "C" NOT NULL,
  rule text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  intent_id text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('standing', 'orphaned', 'ended', 'overridden', 'released')),
  opened_at bigint NOT NULL,
  ended_at bigint,
  PRIMARY KEY (org, id),
  FOREIGN KEY (org, episode_id) REFERENCES trustward.episodes (org, id),
  FOREIGN KEY (org, intent_id) REFERENCES trustward.intents (org, id)
);
CREATE INDEX claims_by_episode ON trustward.claims (org, episode_id);
CREATE INDEX claims_by_intent ON trustward.claims (org, intent_id);
CREATE INDEX claims_by_status ON trustward.claims (org, status, opened_at, id);
CREATE INDEX claims_by_subject ON trustward.claims (org, subject, status, opened_at, id);
CREATE INDEX claims_newest ON trustward.claims (org, opened_at, id);
CREATE UNIQUE INDEX claims_open ON trustward.claims (org, episode_id, action, target) WHERE status IN ('standing', 'orphaned');
CREATE INDEX claims_status ON trustward.claims (org, status, target);

CREATE TABLE trustward.decisions (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  run_seq bigint NOT NULL,
  written_at bigint NOT NULL,
  ended_seq bigint,
  rule text COLLATE "C" NOT NULL,
  rule_hash text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  subject_name text COLLATE "C" NOT NULL,
  verdict text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  decision text COLLATE "C" NOT NULL CHECK (decision IN ('act', 'hold', 'skip')),
  reason text COLLATE "C" NOT NULL,
  reason_text text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  capped_by text COLLATE "C",
  facts text COLLATE "C" NOT NULL,
  effect text COLLATE "C" NOT NULL,
  episode_id text COLLATE "C",
  intent_id text COLLATE "C",
  outcome text COLLATE "C",
  outcome_text text COLLATE "C",
  flip text COLLATE "C",
  rowid bigint GENERATED BY DEFAULT AS IDENTITY,
  PRIMARY KEY (org, id)
);
-- Decisions are listed in the order in which they were written.
CREATE UNIQUE INDEX decisions_in_order ON trustward.decisions (org, rowid);
CREATE INDEX decisions_by_action ON trustward.decisions (org, action, rowid);
CREATE INDEX decisions_by_answer ON trustward.decisions (org, decision, rowid);
CREATE INDEX decisions_by_rule ON trustward.decisions (org, rule, rowid);
CREATE INDEX decisions_by_run ON trustward.decisions (org, run_seq, rowid);
CREATE INDEX decisions_by_target ON trustward.decisions (org, target) WHERE ended_seq IS NULL;
CREATE INDEX decisions_ended ON trustward.decisions (org, rule, ended_seq, run_seq) WHERE ended_seq IS NOT NULL;
CREATE INDEX decisions_episode ON trustward.decisions (org, episode_id) WHERE ended_seq IS NULL;
CREATE INDEX decisions_held ON trustward.decisions (org, reason, action, target) WHERE ended_seq IS NULL AND decision = 'hold';
CREATE INDEX decisions_intent ON trustward.decisions (org, intent_id) WHERE intent_id IS NOT NULL;
CREATE INDEX decisions_of_target ON trustward.decisions (org, target, rowid);
CREATE INDEX decisions_run ON trustward.decisions (org, run_seq, ended_seq);
CREATE INDEX decisions_standing ON trustward.decisions (org, rule, run_seq, ended_seq) WHERE ended_seq IS NULL;
CREATE INDEX decisions_subject ON trustward.decisions (org, subject, rowid);

CREATE TABLE trustward.plans (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  intents text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  decided_at bigint,
  decided_by text COLLATE "C",
  decided_reason text COLLATE "C",
  superseded_by text COLLATE "C",
  dropped text COLLATE "C",
  break_glass text COLLATE "C",
  -- How many intents it has, and the rule whose claims they release: read without the intents, which may be megabytes.
  planned bigint GENERATED ALWAYS AS (trustward.length_of(intents)) STORED,
  releases text COLLATE "C" GENERATED ALWAYS AS (
    CASE trustward.member_of(intents, '$[0].released') WHEN '1' THEN trustward.member_of(intents, '$[0].basis[0].rule') END
  ) STORED,
  PRIMARY KEY (org, id)
);
CREATE INDEX plans_by_run ON trustward.plans (org, run_id);
CREATE INDEX plans_newest ON trustward.plans (org, created_at, id, status, expires_at);
CREATE INDEX plans_status ON trustward.plans (org, status, created_at, id, expires_at);
CREATE INDEX plans_to_drop ON trustward.plans (org, created_at, id) WHERE status = 'superseded' AND dropped IS NULL;

CREATE TABLE trustward.planned_intents (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  no bigint NOT NULL,
  digest text COLLATE "C" NOT NULL,
  content text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, no),
  UNIQUE (org, digest)
);
-- As SQLite numbers them: one more than the greatest, and of this organization alone. Units of one organization do not run at the same time.
CREATE FUNCTION trustward.next_planned_intent() RETURNS bigint LANGUAGE sql VOLATILE RETURN (SELECT coalesce(max(no), 0) + 1 FROM trustward.planned_intents);
ALTER TABLE trustward.planned_intents ALTER no SET DEFAULT trustward.next_planned_intent();

CREATE TABLE trustward.rejected_intents (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  key text COLLATE "C" NOT NULL,
  episode_id text COLLATE "C" NOT NULL,
  plan_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, key, episode_id),
  FOREIGN KEY (org, episode_id) REFERENCES trustward.episodes (org, id)
);
CREATE INDEX rejected_intents_by_episode ON trustward.rejected_intents (org, episode_id);

CREATE TABLE trustward.episode_seen (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  target text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  episode_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, target, action, episode_id),
  FOREIGN KEY (org, episode_id) REFERENCES trustward.episodes (org, id)
);
CREATE INDEX episode_seen_by_episode ON trustward.episode_seen (org, episode_id);

CREATE TABLE trustward.events (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  no bigint GENERATED BY DEFAULT AS IDENTITY,
  id text COLLATE "C" NOT NULL,
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
  PRIMARY KEY (org, no),
  UNIQUE (org, id)
);
CREATE INDEX events_time ON trustward.events (org, created_at);

CREATE TABLE trustward.coverage (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  from_ms bigint NOT NULL,
  to_ms bigint NOT NULL
);
CREATE INDEX coverage_by_end ON trustward.coverage (org, to_ms);

CREATE TABLE trustward.baselines (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  source text COLLATE "C" NOT NULL,
  taken_at bigint NOT NULL,
  count bigint NOT NULL,
  fact_values text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, source)
);

CREATE TABLE trustward.identities (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  no bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  serial text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  platform text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  owners text COLLATE "C",
  first_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  gone_at bigint,
  print bigint NOT NULL,
  owners_print bigint,
  PRIMARY KEY (org, no)
);
CREATE INDEX identities_gone ON trustward.identities (org, kind) WHERE gone_at IS NOT NULL;
CREATE INDEX identities_present ON trustward.identities (org, kind, no, print, owners_print) WHERE gone_at IS NULL;

CREATE TABLE trustward.identity_keys (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  hash bigint NOT NULL,
  no bigint NOT NULL,
  PRIMARY KEY (org, hash, no)
);

CREATE TABLE trustward.identity_owners (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  owner_key text COLLATE "C" NOT NULL,
  no bigint NOT NULL,
  PRIMARY KEY (org, owner_key, no)
);
CREATE INDEX identity_owners_of ON trustward.identity_owners (org, no);

CREATE TABLE trustward.exemptions (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  subject_kind text COLLATE "C",
  subject_id text COLLATE "C",
  selector_kind text COLLATE "C",
  selector_field text COLLATE "C",
  selector_value text COLLATE "C",
  owner text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  created_at bigint NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  ended_at bigint,
  ended_by text COLLATE "C",
  ended_reason text COLLATE "C",
  used_at bigint,
  warned_at bigint,
  PRIMARY KEY (org, id),
  CHECK ((subject_id IS NULL) <> (selector_field IS NULL))
);
CREATE INDEX exemptions_in_force ON trustward.exemptions (org, expires_at) WHERE ended_at IS NULL;

CREATE TABLE trustward.stop_switch (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  one bigint NOT NULL CHECK (one = 1),
  stopped_at bigint NOT NULL,
  stopped_by text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, one)
);

CREATE TABLE trustward.acceptances (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  source text COLLATE "C" NOT NULL,
  accepted_at bigint NOT NULL,
  accepted_by text COLLATE "C" NOT NULL,
  reason text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  causes text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (org, source)
);

CREATE TABLE trustward.notifications (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  recipient text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('notify', 'alert')),
  at bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  about text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL CHECK (status IN ('waiting', 'delivered', 'given_up')),
  attempts bigint NOT NULL,
  next_at bigint NOT NULL,
  note text COLLATE "C",
  PRIMARY KEY (org, id)
);
CREATE INDEX notifications_by_status ON trustward.notifications (org, status, at, id);
CREATE INDEX notifications_due ON trustward.notifications (org, next_at) WHERE status = 'waiting';
CREATE INDEX notifications_newest ON trustward.notifications (org, at, id);

CREATE TABLE trustward.alerts (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  key text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  raised_at bigint NOT NULL,
  PRIMARY KEY (org, key)
);

CREATE TABLE trustward.endpoint_tokens (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL CHECK (scope IN ('read', 'trigger', 'approve', 'admin')),
  hash text COLLATE "C" NOT NULL CHECK (length(hash) = 64),
  created_at bigint NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  revoked_by text COLLATE "C",
  used_at bigint,
  PRIMARY KEY (org, id)
);
CREATE UNIQUE INDEX endpoint_tokens_in_use ON trustward.endpoint_tokens (org, name) WHERE revoked_at IS NULL;

CREATE TABLE trustward.kept_answers (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  id text COLLATE "C" NOT NULL,
  request text COLLATE "C" NOT NULL,
  begun_at bigint NOT NULL,
  run text COLLATE "C",
  status bigint,
  headers text COLLATE "C",
  body bytea,
  PRIMARY KEY (org, id)
);
CREATE INDEX kept_answers_by_age ON trustward.kept_answers (org, begun_at);

CREATE TABLE trustward.webhook_positions (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  webhook text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  saved_at bigint NOT NULL,
  PRIMARY KEY (org, webhook)
);

-- The audit is asked what happened to one target, and what one person did: not by reading all of it. `ana (command line)` and
-- `ana (token admin)` are both `ana`.
CREATE TABLE trustward.audit (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  seq bigint NOT NULL,
  at bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  bytes text COLLATE "C" NOT NULL,
  prev text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  target text COLLATE "C" GENERATED ALWAYS AS (trustward.member_of(bytes, '$.body.target')) STORED,
  actor text COLLATE "C" GENERATED ALWAYS AS (split_part(trustward.member_of(bytes, '$.body.by'), ' (', 1)) STORED,
  PRIMARY KEY (org, seq)
);
CREATE INDEX audit_by_actor ON trustward.audit (org, actor, seq) WHERE actor IS NOT NULL;
CREATE INDEX audit_by_kind ON trustward.audit (org, kind, seq);
CREATE INDEX audit_by_target ON trustward.audit (org, target, seq) WHERE target IS NOT NULL;

CREATE TABLE trustward.checkpoints (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  size bigint NOT NULL,
  line text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, size)
);

CREATE TABLE trustward.audit_archives (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  to_seq bigint NOT NULL,
  from_seq bigint NOT NULL,
  head text COLLATE "C" NOT NULL,
  file text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  archived_at bigint NOT NULL,
  PRIMARY KEY (org, to_seq),
  FOREIGN KEY (org, to_seq) REFERENCES trustward.checkpoints (org, size)
);

-- What a transaction changes of the tables that acting rests on. It is read and emptied before the commit: rows that another transaction left
-- here were changed beside the engine. Their loss in a crash loses nothing.
CREATE UNLOGGED TABLE trustward.row_changes (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  no bigint GENERATED BY DEFAULT AS IDENTITY,
  transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
  relation text COLLATE "C" NOT NULL,
  is_added boolean NOT NULL,
  content text COLLATE "C" NOT NULL,
  PRIMARY KEY (org, no)
);

-- The digest of each of these tables, as numbers that a changed row is added to (src/store/row-sum.ts).
CREATE TABLE trustward.row_sums (
  org text COLLATE "C" NOT NULL DEFAULT trustward.organization(),
  relation text COLLATE "C" NOT NULL,
  count bigint NOT NULL,
  lanes bytea NOT NULL,
  PRIMARY KEY (org, relation)
);

CREATE FUNCTION trustward.note_row_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO trustward.row_changes (relation, is_added, content) SELECT TG_TABLE_NAME, false, row_to_json(old_rows)::text FROM old_rows;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO trustward.row_changes (relation, is_added, content) SELECT TG_TABLE_NAME, true, row_to_json(new_rows)::text FROM new_rows;
  END IF;
  RETURN NULL;
END $$;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['acceptances', 'attempt_counts', 'attempts', 'baselines', 'claims', 'endpoint_tokens', 'episode_seen', 'episodes',
    'exemptions', 'intent_episodes', 'intents', 'planned_intents', 'plans', 'rejected_intents', 'stop_switch']
  LOOP
    EXECUTE format('CREATE TRIGGER follow_insert AFTER INSERT ON trustward.%I REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION trustward.note_row_changes()', name);
    EXECUTE format('CREATE TRIGGER follow_update AFTER UPDATE ON trustward.%I REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION trustward.note_row_changes()', name);
    EXECUTE format('CREATE TRIGGER follow_delete AFTER DELETE ON trustward.%I REFERENCING OLD TABLE AS old_rows
      FOR EACH STATEMENT EXECUTE FUNCTION trustward.note_row_changes()', name);
  END LOOP;
END $$;

-- The time of the last use of a token decides nothing, and is written without an audit entry: a change of it alone is not followed.
CREATE FUNCTION trustward.note_row_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO trustward.row_changes (relation, is_added, content)
  VALUES (TG_TABLE_NAME, false, row_to_json(OLD)::text), (TG_TABLE_NAME, true, row_to_json(NEW)::text);
  RETURN NULL;
END $$;
DROP TRIGGER follow_update ON trustward.endpoint_tokens;
CREATE TRIGGER follow_update AFTER UPDATE OF id, name, scope, hash, created_at, created_by, expires_at, revoked_at, revoked_by
  ON trustward.endpoint_tokens FOR EACH ROW EXECUTE FUNCTION trustward.note_row_change();

-- `TG_ARGV[0]`: why.
CREATE FUNCTION trustward.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = TG_ARGV[0];
END $$;

CREATE TRIGGER audit_no_update BEFORE UPDATE ON trustward.audit FOR EACH ROW EXECUTE FUNCTION trustward.refuse_change('the audit is append-only');
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON trustward.audit EXECUTE FUNCTION trustward.refuse_change('the audit is append-only');
CREATE TRIGGER checkpoints_no_change BEFORE UPDATE OR DELETE ON trustward.checkpoints
  FOR EACH ROW EXECUTE FUNCTION trustward.refuse_change('checkpoints are append-only');
CREATE TRIGGER checkpoints_no_truncate BEFORE TRUNCATE ON trustward.checkpoints
  EXECUTE FUNCTION trustward.refuse_change('checkpoints are append-only');
CREATE TRIGGER audit_archives_no_change BEFORE UPDATE OR DELETE ON trustward.audit_archives
  FOR EACH ROW EXECUTE FUNCTION trustward.refuse_change('archives are append-only');
CREATE TRIGGER audit_archives_no_truncate BEFORE TRUNCATE ON trustward.audit_archives
  EXECUTE FUNCTION trustward.refuse_change('archives are append-only');

-- The one way out of the audit: an entry may go when a verified archive holds it, which is itself an entry of the audit.
CREATE FUNCTION trustward.refuse_unarchived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.seq > (SELECT coalesce(max(to_seq), 0) FROM trustward.audit_archives WHERE org = OLD.org) THEN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'the audit is append-only';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON trustward.audit FOR EACH ROW EXECUTE FUNCTION trustward.refuse_unarchived();

-- Nobody sees or writes a row of another organization, whatever a statement says: the owner of the tables neither. Later migrations call it for
-- each table that they make.
CREATE FUNCTION trustward.keep_apart(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('ALTER TABLE trustward.%I ENABLE ROW LEVEL SECURITY', name);
  EXECUTE format('ALTER TABLE trustward.%I FORCE ROW LEVEL SECURITY', name);
  EXECUTE format('CREATE POLICY own_organization ON trustward.%I USING (org = trustward.organization())', name);
  EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON trustward.%I TO trustward_work', name);
END $$;

SELECT trustward.keep_apart(relname) FROM pg_class
WHERE relnamespace = 'trustward'::regnamespace AND relkind = 'r' AND EXISTS (
  SELECT 1 FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'org');
GRANT USAGE ON SCHEMA trustward TO trustward_work;
