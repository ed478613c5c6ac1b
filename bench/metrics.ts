// bench: what a scrape costs: over a database of 100,000 intents, 50,000 claims and 20 rules, read anew for each scrape, and what counting the
// commit of a run over 100,000 devices costs. In: nothing. Out: processor time, medians. Usage: npm run bench -- metrics [--short]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { AuditNote } from '../src/domain/audit-entry.ts';
import { LANE_NAMES } from '../src/domain/jobs.ts';
import { linkEntry } from '../src/engine/audit/signing-key.ts';
import { Measuring } from '../src/runtime/metrics/measuring.ts';
import type { PresentState } from '../src/runtime/metrics/shared-gauges.ts';
import { newCounters } from '../src/runtime/schedule/run-queue.ts';
import { systemClock } from '../src/runtime/system/clock.ts';
import { migrate, openDatabase } from '../src/store/sqlite/database.ts';
import { SqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { fillLarge, LARGE, LARGE_RULES, SMALL } from '../test/support/large-database.ts';
import { isShort, report } from './figures.ts';

const SCRAPES = 30;
const folder = mkdtempSync(join(tmpdir(), 'trustward-metrics-'));
const db = openDatabase(join(folder, 'large.db'));
migrate(db);
fillLarge(db, isShort ? SMALL : { ...LARGE, runs: 200, audit: 120_000 });
const store = new SqliteStore(db, linkEntry, systemClock);

let nowMs = systemClock.monotonicMs();
let added: (notes: readonly AuditNote[]) => void = () => {};
const rules = LARGE_RULES.map((id) => ({ id, mode: 'enforce' as const }));
const { lanes } = newCounters(0);
const none = { looks: 0, failed: 0, runs: 0, wholeRuns: 0, events: 0, named: 0, strangers: 0, unread: 0 };
const present: PresentState = {
  mode: 'enforce',
  configuredMode: 'enforce',
  fault: undefined,
  isCheckpointBehind: false,
  isHistoryFailing: false,
  isRestored: false,
  frozenUntil: undefined,
  areRulesRefused: false,
  sourcesRead: new Set(['devices', 'users', 'services', 'events']),
  hasLastRunFailed: false,
  nextRunAt: undefined,
  lanes: LANE_NAMES.map((name) => ({ name, waiting: 0, counters: lanes[name] })),
  watch: { since: 0, everyMs: 30_000, ...none, lastLookAt: undefined, state: { kind: 'looks' } },
  skewMs: 0,
  quietMs: 15_000,
};
const measuring = new Measuring({
  version: '0',
  // Each scrape comes a second after the last, so that each reads the database.
  clock: { ...systemClock, monotonicMs: () => nowMs },
  store: {
    figures: () => store.figures(),
    lastFindings: () => store.lastFindings(),
    diskUse: () => store.diskUse(),
    onAudited: (listener) => {
      added = listener;
    },
  },
  watchCalls: () => {},
  onProgress: () => {},
  rules: () => rules,
  now: () => present,
});

const times: number[] = [];
for (let at = 0; at < SCRAPES; at += 1) {
  nowMs += 1_000;
  times.push(await processorMs(() => measuring.text()));
}
report({
  bench: 'metrics',
  what: 'one scrape that reads the database, processor time',
  value: median(times),
  unit: 'ms',
  atMost: 30,
});

const notes = Array.from({ length: 100_000 }, (_, index): AuditNote => {
  const rule = LARGE_RULES[index % LARGE_RULES.length] as string;
  return { kind: 'decision.made', body: { rule, answer: 'act', reason: 'rule_matches', target: `SN${index}` } };
});
let longestMs = 0;
const counted: number[] = [];
for (let at = 0; at < 5; at += 1) {
  const before = await countOf();
  counted.push(
    await processorMs(async () => {
      longestMs = Math.max(longestMs, await processorMs(async () => added(notes)));
      for (let turn = 0; turn < 60; turn += 1) longestMs = Math.max(longestMs, await processorMs(() => setImmediate()));
    }),
  );
  if ((await countOf()) - before !== notes.length) throw new Error('not all of a commit was counted');
}
report({
  bench: 'metrics',
  what: 'counting a commit of 100,000 entries, processor time',
  value: median(counted),
  unit: 'ms',
  atMost: 300,
});
report({
  bench: 'metrics',
  what: 'the same: the longest turn, processor time',
  value: longestMs,
  unit: 'ms',
  atMost: 50,
});
await store.close();
rmSync(folder, { recursive: true });

async function countOf(): Promise<number> {
  const found = /^trustward_audit_entries_total\{family="decision"\} (\d+)$/m.exec(await measuring.text());
  return Number(found?.[1] ?? 0);
}

async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] as number;
}
