// bench: what pages read of a database of 1,000,000 decisions, 10,396 of them in force in its last run. In: nothing. Out: milliseconds of
// processor time of each reader, the median of several, and the ratio to reading all decisions of the last run. A file that exists is used
// again. Usage: npm run bench:large [-- FILE]. Reach: every page below 200 ms.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunRecord } from '../src/domain/store.ts';
import { historyOf } from '../src/engine/explain/history-of.ts';
import { buildOutline, buildReport } from '../src/faces/report/build-report.ts';
import { buildSummary } from '../src/faces/report/summary/build.ts';
import { systemClock } from '../src/runtime/system/clock.ts';
import { SqlReader } from '../src/store/reader.ts';
import { migrate, openDatabase, openReadOnly, SqliteWork } from '../src/store/sqlite/database.ts';
import { fillLarge, idOf, LARGE, LARGE_END_MS } from '../test/support/large-database.ts';

const TIMES = 5;
const NOW_MS = LARGE_END_MS + 60_000;
const DAY_MS = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), 'trustward-pages-'));
const file = process.argv[2] ?? join(folder, 'large.db');
const say = (text: string) => void process.stdout.write(`${text}\n`);

function fill(): void {
  if (existsSync(file)) return;
  const start = systemClock.monotonicMs();
  const db = openDatabase(file);
  migrate(db);
  fillLarge(db, LARGE);
  db.close();
  say(`filled in ${((systemClock.monotonicMs() - start) / 1_000).toFixed(0)} s`);
}

/** The median of the processor time, in milliseconds: unlike the time of a clock, it does not depend on what else runs. */
async function timeOf(read: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < TIMES; round += 1) {
    const start = process.cpuUsage();
    await read();
    const { user, system } = process.cpuUsage(start);
    times.push((user + system) / 1_000);
  }
  return times.sort((one, other) => one - other)[Math.floor(TIMES / 2)] as number;
}

try {
  fill();
  const reader = new SqlReader(new SqliteWork(openReadOnly(file)), { ...systemClock, nowMs: () => NOW_MS });
  const run = async (seq: number) => (await reader.run(String(seq))) as RunRecord;
  const [last, middle] = [await run(LARGE.runs), await run(LARGE.runs / 2)];
  const rule = 'rule-00';
  const after = (await reader.decisionsOfRule(last, rule, { limit: 50 })).rows.at(-1)?.id as string;
  const plan = idOf('plan', 1);
  const readers: { [title: string]: () => Promise<unknown> } = {
    'all decisions of the last run': () => reader.decisionsOfRun(last),
    'its report, as JSON has it': () => buildReport(reader, last),
    'its outline, as its page has it': () => buildOutline(reader, last),
    'the outline of an earlier run': () => buildOutline(reader, middle),
    'outlines of its decisions': () => reader.outlinesOfRun(last),
    'what ended since the run before': () => reader.decisionsEnded({ fromSeq: last.seq - 1, toSeq: last.seq }),
    'the outline of a plan of 10,000 intents': () => reader.planOutline(plan),
    'those of a rule': () => reader.decisionsOfRule(last, rule, { limit: 50, after }),
    'what a rule led to': () => reader.decisions({ rule, limit: 50 }),
    'matches of each rule at 240 times of 30 days': () =>
      reader.ruleTallies(
        Array.from({ length: 240 }, (_, at) => NOW_MS - at * 10_800_000),
        20,
      ),
    'what one rule did on each of 30 days': () =>
      reader.doneInSteps({ untilMs: NOW_MS, steps: 30, stepMs: DAY_MS, rule }),
    'what was done on each of 30 days': () => reader.doneInSteps({ untilMs: NOW_MS, steps: 30, stepMs: DAY_MS }),
    '50 runs and their counts': async () => {
      for (const line of await reader.runLines({ limit: 50 })) await reader.countsOfRun(line);
    },
    '20 plans of 10,000 intents': () => reader.planLines({}, { limit: 50 }),
    'plans that wait': () => reader.planLines({ status: 'pending' }, { limit: 50 }),
    'the counts of a plan of 10,000 intents': () => reader.countsOfPlan(plan),
    'intents in doubt': () => reader.newestIntents({ outcome: 'unknown' }, 50),
    'intents that failed': () => reader.newestIntents({ outcome: 'failed' }, 50),
    'failures that are open': () => reader.openFailures(),
    'claims in force': () => reader.claimsInForce({ limit: 50, after: idOf('claim', 25_000) }),
    'claims by action': () => reader.claimCounts(),
    exemptions: () => reader.exemptionPage({ limit: 50 }),
    'a search': () => reader.identitiesNamed('person7@example.com'),
    'the history of a device': () => historyOf(reader, { subjectId: 'device-000123' }, { limit: 50, nowMs: NOW_MS }),
    audit: () => reader.audit({ limit: 50 }),
    'audit of a kind': () => reader.audit({ kind: 'plan.approved', since: NOW_MS - DAY_MS, limit: 50 }),
    'audit of an actor': () => reader.audit({ actor: 'ana', since: NOW_MS - DAY_MS, limit: 50 }),
    'audit of a target': () => reader.audit({ target: 'SN000123', limit: 50 }),
    'the summary of 24 hours': () => buildSummary(reader, NOW_MS - DAY_MS, NOW_MS),
  };
  let whole: number | undefined;
  for (const [title, read] of Object.entries(readers)) {
    const ms = await timeOf(read);
    whole ??= ms;
    say(`${title.padEnd(40)}${ms.toFixed(1).padStart(8)} ms  ${(ms / whole).toFixed(3)}`);
  }
  await reader.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
