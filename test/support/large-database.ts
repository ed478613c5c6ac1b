// support: a database as years of running leave it: by default 1,000,000 decisions of 2,000 runs, 10,000 of them in force in the last run. In: a
// connection and a size. Out: rows of every table that people page through. It writes rows directly, with its indexes made last: the
// audit is not linked, and no engine can work on it.

import { HASH_FUNCTION } from '../../src/store/identities.ts';
import type { SqliteDb } from '../../src/store/sqlite/database.ts';

export interface LargeSize {
  runs: number;
  /** Written by each run; every 101st stays in force, and those of the last run. */
  decisionsOfRun: number;
  devices: number;
  /** The first of them are in doubt, parked or failed; each of the next has a claim. */
  intents: number;
  claims: number;
  plannedIntents: number;
  audit: number;
}

export const LARGE: LargeSize = {
  runs: 2_000,
  decisionsOfRun: 500,
  devices: 100_000,
  intents: 100_000,
  claims: 50_000,
  plannedIntents: 10_000,
  audit: 1_200_000,
};

export const SMALL: LargeSize = {
  runs: 100,
  decisionsOfRun: 200,
  devices: 2_000,
  intents: 2_000,
  claims: 1_000,
  plannedIntents: 300,
  audit: 24_000,
};

/** When the last run ended. */
export const LARGE_END_MS = Date.UTC(2026, 10, 21, 9, 0, 0);
const RUN_EVERY_MS = 300_000;
const RULES = 20;
export const LARGE_RULES = Array.from({ length: RULES }, (_, number) => `rule-${String(number).padStart(2, '0')}`);

/** The last run is `run-…` of the number `size.runs`; ids of all others begin so too: `decision-0000000001`. */
export const idOf = (what: string, number: number) => `0${what}-${String(number).padStart(10, '0')}`;

export function fillLarge(db: SqliteDb, size: LargeSize): void {
  const indexes = db.all<{ name: string; sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name",
  );
  db.exec('PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY');
  for (const { name } of indexes) db.exec(`DROP INDEX ${name}`);
  db.transaction(() => {
    for (const sql of statements(size)) db.exec(sql);
  });
  for (const { sql } of indexes) db.exec(sql);
  db.exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)');
}

/** The SQL of an id; `n`: the SQL of its number. */
const id = (what: string, n: string) => `printf('0${what}-%010d', ${n})`;
const numbers = (from: number, to: number) =>
  `WITH RECURSIVE numbers(n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to})`;

const RULE = (n: string) => `printf('rule-%02d', (${n}) % ${RULES})`;
const DEVICE = (n: string) => `printf('device-%06d', ${n})`;
const SERIAL = (n: string) => `printf('SN%06d', ${n})`;
const NAME = (n: string) => `printf('Laptop %d of Person %d', ${n}, (${n}) / 2)`;
const OWNER = (n: string) => `printf('person%d@example.com', (${n}) / 2)`;
const EFFECT = (d: string) => `json_object('devices', json_array(json_object('id', ${DEVICE(d)}, 'model', 'Mac14,2',
  'name', ${NAME(d)}, 'owners', json_array(${OWNER(d)}), 'platform', 'macOS', 'serial', ${SERIAL(d)})),
  'text', 'ban serial number ' || ${SERIAL(d)} || ': 1 device')`;
const FACTS = `json_object('MdmData.CompromisedStatus', 'TRUE', 'MdmData.Timestamp', '1790000000000000000')`;
const BASIS = (
  n: string,
  d: string,
) => `json_array(json_object('decisionId', ${id('decision', n)}, 'episodeId', ${id('episode', n)},
  'facts', json(${FACTS}), 'rule', ${RULE(n)}, 'ruleHash', '${'b'.repeat(64)}', 'subjectId', ${DEVICE(d)}))`;

function* statements(size: LargeSize): Generator<string> {
  const { runs, decisionsOfRun, devices } = size;
  const startMs = LARGE_END_MS - runs * RUN_EVERY_MS;
  const decisions = runs * decisionsOfRun;
  const at = (seq: string) => `(${startMs} + (${seq}) * ${RUN_EVERY_MS})`;
  const seqOf = (n: string) => `(1 + (${n} - 1) / ${decisionsOfRun})`;
  yield identitiesOf(size, startMs);
  yield `INSERT INTO identity_keys SELECT ${HASH_FUNCTION}('id', lower(id)) AS hash, no FROM identities
    UNION SELECT ${HASH_FUNCTION}('serial', lower(serial)), no FROM identities
    UNION SELECT ${HASH_FUNCTION}('name', lower(name)), no FROM identities ORDER BY 1, 2`;
  yield `${numbers(0, devices - 1)} INSERT INTO identity_owners (owner_key, no) SELECT ${OWNER('n')}, n + 1 FROM numbers ORDER BY 1`;
  yield `${numbers(1, runs)} INSERT INTO runs (seq, id, mode, daemon_mode, run_trigger, rules, rule_set_hash, started_at, finished_at,
      status, demo, snapshot, tallies, plan_digest, plan_id)
    SELECT n, ${id('run', 'n')}, 'enforce', 'enforce', 'schedule', '${JSON.stringify(LARGE_RULES)}', '${'a'.repeat(64)}',
      ${at('n')} - 60000, ${at('n')}, CASE WHEN n % 97 = 0 THEN 'aborted' ELSE 'completed' END, 0,
      '${JSON.stringify(snapshotOf(size))}', '${JSON.stringify(talliesOf(size))}', '${'d'.repeat(64)}',
      CASE WHEN n = ${runs} THEN '${idOf('plan', 1)}' END FROM numbers`;
  // In force: one of a hundred, and all of the last run. Every device has several decisions in the past.
  yield `${numbers(1, decisions)} INSERT INTO decisions (id, run_id, run_seq, written_at, ended_seq, rule, rule_hash, kind, subject,
      subject_name, verdict, since, decision, reason, reason_text, action, target, mode, facts, effect, episode_id, intent_id, outcome)
    SELECT ${id('decision', 'n')}, ${id('run', seqOf('n'))}, ${seqOf('n')}, ${at(seqOf('n'))},
      CASE WHEN n % 101 = 0 OR ${seqOf('n')} = ${runs} THEN NULL ELSE min(${runs}, ${seqOf('n')} + 1 + n % 20) END,
      ${RULE('n')}, '${'b'.repeat(64)}', 'device', ${DEVICE(`n % ${devices}`)}, ${NAME(`n % ${devices}`)}, 'match', ${at(seqOf('n'))},
      CASE WHEN n / 20 % 3 = 0 THEN 'act' WHEN n / 20 % 3 = 1 THEN 'hold' ELSE 'skip' END,
      CASE WHEN n / 20 % 3 = 0 THEN 'rule_matches' WHEN n / 20 % 3 = 1 THEN 'approval_needed' ELSE 'already_acted' END,
      'the rule matches', 'ban_device', ${SERIAL(`n % ${devices}`)}, 'enforce', ${FACTS}, ${EFFECT(`n % ${devices}`)},
      ${id('episode', 'n')}, CASE WHEN n <= ${size.intents} THEN ${id('intent', 'n')} END,
      CASE WHEN n / 20 % 3 = 0 THEN 'succeeded' END FROM numbers`;
  yield `${numbers(1, Math.max(size.intents, decisions / 10))} INSERT INTO episodes (id, rule, kind, subject, since, matching_since, state, state_since, closed_at,
      close_reason)
    SELECT ${id('episode', 'n')}, ${RULE('n')}, 'device', ${DEVICE(`n % ${devices}`)}, ${startMs} + n, ${startMs} + n,
      CASE WHEN n <= ${size.claims} THEN 'matching' ELSE 'closed' END, ${startMs} + n,
      CASE WHEN n <= ${size.claims} THEN NULL ELSE ${LARGE_END_MS} END, CASE WHEN n <= ${size.claims} THEN NULL ELSE 'cleared' END FROM numbers`;
  yield* actedOf(size, startMs);
  for (let number = 1; number <= 20; number += 1) yield planOf(size, number);
  yield auditOf(size, startMs);
  yield `${numbers(1, 200)} INSERT INTO exemptions (id, subject_kind, subject_id, owner, reason, expires_at, created_at, created_by)
    SELECT ${id('exemption', 'n')}, 'device', ${DEVICE('n')}, 'ana', 'a test device', ${LARGE_END_MS} + n * 3600000, ${startMs} + n, 'ana' FROM numbers`;
}

function identitiesOf({ devices }: LargeSize, startMs: number): string {
  return `${numbers(0, devices - 1)} INSERT INTO identities (no, kind, id, serial, name, platform, model, owners,
      first_at, changed_at, print, owners_print)
    SELECT n + 1, 'device', ${DEVICE('n')}, ${SERIAL('n')}, ${NAME('n')}, 'macOS', 'Mac14,2', json_array(${OWNER('n')}), ${startMs}, ${startMs}, n, n FROM numbers`;
}

function* actedOf({ intents, claims, devices, runs }: LargeSize, startMs: number): Generator<string> {
  const device = `n % ${devices}`;
  const outcome = `CASE WHEN n <= 20 THEN 'unknown' WHEN n <= 50 THEN 'parked' WHEN n % 50 = 0 THEN 'failed' ELSE 'succeeded' END`;
  yield `${numbers(1, intents)} INSERT INTO intents (id, run_id, mode, action, target, settings, undo, approved, basis, effect, status,
      outcome, attempts, doubt_retries, created_at, sent_at, settled_at, note)
    SELECT ${id('intent', 'n')}, ${id('run', `1 + n % ${runs}`)}, 'enforce', 'ban_device', ${SERIAL(device)}, '{}', 0, 0, ${BASIS('n', device)},
      ${EFFECT(device)}, 'settled', ${outcome}, 1, 0, ${startMs} + n, ${startMs} + n, ${startMs} + n, 'Success' FROM numbers`;
  yield `${numbers(1, intents)} INSERT INTO intent_episodes (intent_id, episode_id, action, target, live)
    SELECT ${id('intent', 'n')}, ${id('episode', 'n')}, 'ban_device', ${SERIAL(device)}, 1 FROM numbers`;
  yield `${numbers(1, intents)} INSERT INTO attempts (intent_id, action, target, rules, sent_at)
    SELECT ${id('intent', 'n')}, 'ban_device', ${SERIAL(device)}, json_array(${RULE('n')}), ${startMs} + n FROM numbers`;
  yield `${numbers(1, claims)} INSERT INTO claims (id, episode_id, rule, subject, action, target, intent_id, status, opened_at)
    SELECT ${id('claim', 'n')}, ${id('episode', 'n')}, ${RULE('n')}, ${DEVICE(device)},
      CASE WHEN n % 10 = 0 THEN 'disable_service' ELSE 'ban_device' END, ${SERIAL(device)},
      ${id('intent', 'n')}, CASE WHEN n % 50 = 0 THEN 'orphaned' ELSE 'standing' END, ${startMs} + n FROM numbers`;
}

/** The first is pending; the others were superseded, each by the one before. */
function planOf({ plannedIntents, devices, runs }: LargeSize, number: number): string {
  const device = `n % ${devices}`;
  const status = number === 1 ? 'pending' : 'superseded';
  const createdAt = LARGE_END_MS - number * RUN_EVERY_MS;
  return `${numbers(1, plannedIntents)} INSERT INTO plans (id, digest, run_id, mode, status, intents, created_at, expires_at)
    SELECT '${idOf('plan', number)}', printf('%064d', ${number}), '${idOf('run', runs)}', 'enforce', '${status}',
      json_group_array(json_object('action', 'ban_device', 'basis', json(${BASIS('n', device)}), 'effect', json(${EFFECT(device)}), 'held', json('true'),
        'key', printf('%064d', n), 'reason', 'approval_needed', 'reasonText', 'the rule is of mode approve', 'settings', json('{}'),
        'target', ${SERIAL(device)}, 'undo', json('false'))),
      ${createdAt}, ${createdAt + 86_400_000} FROM numbers`;
}

/** Of each hundred entries one is of a person. */
function auditOf({ audit, devices, runs }: LargeSize, startMs: number): string {
  const at = `${startMs} + n * ${(LARGE_END_MS - startMs) / audit}`;
  const ofRun = Math.floor(audit / runs);
  const kind = `CASE WHEN n % ${ofRun} = 0 THEN 'run.started' WHEN n % ${ofRun} = ${ofRun} - 1 THEN 'run.finished' WHEN n % 12 = 2 THEN 'intent.planned'
    WHEN n % 12 = 3 THEN 'intent.sent' WHEN n % 12 = 4 THEN 'intent.settled' ELSE 'decision.made' END`;
  const person = 'n % 1200 = 6';
  return `${numbers(1, audit)} INSERT INTO audit (seq, at, kind, bytes, prev, hash)
    SELECT n, CAST(${at} AS INTEGER), CASE WHEN ${person} THEN 'plan.approved' ELSE ${kind} END,
      json_object('at', CAST(${at} AS INTEGER), 'body', CASE WHEN ${person} THEN json_object('by', 'ana (command line)', 'plan', '${idOf('plan', 1)}', 'reason', 'seen')
        ELSE json_object('action', 'ban_device', 'intent', ${id('intent', 'n')}, 'outcome', 'succeeded', 'target', ${SERIAL(`n % ${devices}`)}) END,
        'kind', ${kind}), '${'0'.repeat(64)}', printf('%064d', n) FROM numbers`;
}

function snapshotOf({ devices }: LargeSize): object {
  const reading = (source: string) => ({
    ...{ source, state: 'read', form: 'paged', startedAt: 0, finishedAt: 0, count: devices },
    ...{ unreadable: { count: 0, examples: [] }, dropped: [], trusted: true, reasons: [] },
  });
  const sources = Object.fromEntries(['devices', 'users', 'services', 'events'].map((name) => [name, reading(name)]));
  return { id: 'snapshot', nowMs: LARGE_END_MS, sources };
}

function talliesOf({ devices }: LargeSize): object[] {
  return LARGE_RULES.map((rule) => ({
    ...{ rule, title: `The ${rule}`, mode: 'enforce', hash: 'b'.repeat(64), judged: true },
    ...{ match: 500, no_match: devices - 500, unknown: 0, error: 0, missing: {}, examples: [] },
  }));
}
