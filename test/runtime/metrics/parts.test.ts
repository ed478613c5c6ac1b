// test: counts of commits, figures of the store, what a scrape shows of a failing store, and of a worker's many organizations.
import { describe, expect, it } from 'vitest';
import type { AuditNote } from '../../../src/domain/audit-entry.ts';
import type { WatchLook } from '../../../src/domain/run.ts';
import type { StoreFigures } from '../../../src/domain/store.ts';
import { linkEntry } from '../../../src/engine/audit/signing-key.ts';
import { NoteCounts, RunTimer, StoreGauges } from '../../../src/runtime/metrics/measuring.ts';
import { Metrics } from '../../../src/runtime/metrics/registry.ts';
import {
  NAMED_MAX,
  type PresentState,
  setPresent,
  WorkerMeasuring,
} from '../../../src/runtime/metrics/shared-gauges.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { countingDatabase } from '../../support/counting-db.ts';
import { fakeClock, START_MS } from '../../support/filled-store.ts';
import { scrapeOf } from './daemon-metrics.ts';

describe('counts of commits, figures of the store, and what a scrape shows while the store or its disk does not answer', () => {
  const decided = (rule: string): AuditNote => ({
    kind: 'decision.made',
    body: { rule, answer: 'hold', reason: 'limits', target: 'SN-1', reasonText: 'a text of somebody' },
  });

  describe('a commit', () => {
    it('of 100,000 entries is counted whole, while others get their turn', async () => {
      const metrics = new Metrics();
      const counts = new NoteCounts(metrics, () => true);
      counts.add(Array.from({ length: 100_000 }, (_, index) => decided(`rule-${index % 10}`)));
      counts.add([decided('rule-0')]);
      let turns = 0;
      const series = 'trustward_decisions_total{rule="rule-0",decision="hold",reason="limits"}';
      const shown = async () => scrapeOf(await metrics.text());
      while ((await shown()).value(series) !== 10_001) turns += await nextTurn();
      expect(turns).toBeGreaterThan(5);
      expect((await shown()).seriesOf('trustward_decisions_total')).toHaveLength(10);
    });

    it('about rules that are not loaded adds no name to a label', async () => {
      const metrics = new Metrics();
      const counts = new NoteCounts(metrics, (id) => id === 'loaded');
      counts.add([decided('loaded'), ...Array.from({ length: 50 }, (_, index) => decided(`gone-${index}`))]);
      const scrape = scrapeOf(await metrics.text());
      expect(scrape.seriesOf('trustward_decisions_total')).toHaveLength(2);
      expect(scrape.value('trustward_decisions_total{rule="(not loaded)",decision="hold",reason="limits"}')).toBe(50);
      expect(scrape.text).not.toMatch(/gone-|SN-1|somebody/);
    });
  });

  describe('the time from event to act', () => {
    it('is that of each call which a look led to, from its oldest new event, by the clock of the API', async () => {
      const metrics = new Metrics();
      const clock = fakeClock();
      const timer = new RunTimer(metrics, clock);
      timer.recorded([{ kind: 'run.started', body: { run: 'r1', trigger: 'watch' } }]);
      clock.advance(2_000);
      timer.recorded([
        { kind: 'intent.sent', body: { run: 'r1' } },
        { kind: 'intent.sent', body: { run: 'other' } },
      ]);
      const look = { run: { id: 'r1' }, oldestEventAt: START_MS - 5_000 } as WatchLook;
      timer.looked(look, 1_000);
      timer.step(undefined);
      timer.looked(look, 1_000);
      const scrape = scrapeOf(await metrics.text());
      expect(scrape.value('trustward_event_to_act_seconds_count')).toBe(1);
      expect(scrape.value('trustward_event_to_act_seconds_sum')).toBe(8);
      expect(scrape.value('trustward_run_duration_seconds_sum{trigger="watch"}')).toBe(2);
    });
  });

  const NOW = { fault: undefined, sourcesRead: new Set(['devices']) } as unknown as PresentState;
  const PRESENT = { ...NOW, lanes: [], watch: { everyMs: 0, state: { kind: 'looks' } } } as unknown as PresentState;

  it('organizations are counted where a process works on several, and nowhere else', async () => {
    const metrics = new Metrics();
    const served = async (organizations: PresentState['organizations']) => {
      setPresent(metrics, { ...PRESENT, organizations }, []);
      const scrape = scrapeOf(await metrics.text());
      return ['trustward_organizations', 'trustward_organizations_refused'].map((name) => scrape.value(name));
    };
    expect(await served({ count: 300, areRefused: true })).toEqual([300, 1]);
    expect(await served({ count: 2, areRefused: false })).toEqual([2, 0]);
    expect(await served(undefined)).toEqual([undefined, undefined]);
  });

  const DISK = { database: 1, log: 2, free: 3, size: 4 };

  function gaugesOver(store: SqliteStore, over: object, clock = systemClock) {
    const metrics = new Metrics();
    const ports = {
      figures: () => store.figures(),
      lastFindings: () => store.lastFindings(),
      diskUse: async () => DISK,
      onAudited: () => {},
      ...over,
    };
    const gauges = new StoreGauges(metrics, { store: ports, clock, rules: () => [] });
    return async () => {
      await gauges.set(NOW);
      return scrapeOf(await metrics.text());
    };
  }

  describe('a scrape', () => {
    it('asks the store nothing that reads a whole table', async () => {
      const db = countingDatabase();
      const store = new SqliteStore(db, linkEntry, fakeClock());
      db.asked.clear();
      await store.figures();
      await store.lastFindings();
      // The newest 50 runs by their index, once after each run.
      const small =
        /^SCAN (runs USING INDEX runs_over_lists$|alerts|baselines|coverage|signal_counts|stop_switch|transmitters|\(subquery-\d+\))/;
      const scans = [...db.asked.keys()].flatMap((sql) =>
        db.planOf(sql).filter((one) => /^SCAN/.test(one) && !small.test(one)),
      );
      expect(db.asked.size).toBeGreaterThan(8);
      expect(scans).toEqual([]);
    });

    it('shows nothing of a store that cannot be read, instead of zeros, and all of it once it can be read again', async () => {
      const clock = { ...fakeClock(), sleep: systemClock.sleep };
      const store = new SqliteStore(countingDatabase(), linkEntry, clock);
      let isBroken = false;
      const figures = async (): Promise<StoreFigures> => {
        if (isBroken) throw new Error('the disk fails');
        return store.figures();
      };
      const scrape = gaugesOver(store, { figures }, clock);
      expect((await scrape()).value('trustward_stopped')).toBe(0);
      isBroken = true;
      clock.advance(1_000);
      const broken = await scrape();
      expect(broken.value('trustward_store_up')).toBe(0);
      for (const name of [
        'trustward_stopped',
        'trustward_intents',
        'trustward_plans',
        'trustward_store_read_timestamp_seconds',
      ])
        expect(broken.seriesOf(name)).toEqual([]);
      isBroken = false;
      clock.advance(1_000);
      const whole = await scrape();
      expect([whole.value('trustward_store_up'), whole.value('trustward_intents{state="parked"}')]).toEqual([1, 0]);
    });

    it('reads the store once a second, however often it is asked', async () => {
      const clock = { ...fakeClock(), sleep: systemClock.sleep };
      const store = new SqliteStore(countingDatabase(), linkEntry, clock);
      let reads = 0;
      const scrape = gaugesOver(store, { figures: () => store.figures().finally(() => (reads += 1)) }, clock);
      for (let at = 0; at < 20; at += 1) await scrape();
      expect(reads).toBe(1);
      clock.advance(1_000);
      await scrape();
      expect(reads).toBe(2);
    });

    it('does not wait for a disk that hangs, and asks it once', async () => {
      const store = new SqliteStore(countingDatabase(), linkEntry, systemClock);
      let asked = 0;
      const diskUse = () => {
        asked += 1;
        return new Promise(() => {});
      };
      const scrape = gaugesOver(store, { diskUse });
      for (let at = 0; at < 3; at += 1) expect((await scrape()).seriesOf('trustward_disk_free_bytes')).toEqual([]);
      expect(asked).toBe(1);
    });
  });

  async function nextTurn(): Promise<number> {
    await new Promise((resolve) => setImmediate(resolve));
    return 1;
  }
});

const idsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => `o-${String(first + at).padStart(5, '0')}`);

function measuring(state: { ids: string[]; failing?: string[]; problems?: { organization: string; kind: string }[] }) {
  return new WorkerMeasuring({
    version: 'v',
    jobs: async () => [],
    organizations: () => ({ count: state.ids.length, areRefused: false }),
    problems: () => state.problems ?? [],
    fault: () => undefined,
    ids: () => state.ids,
    failing: () => state.failing ?? [],
    longestMs: () => 0,
    fetchedAtMs: () => undefined,
  });
}

/** By organization. */
function seriesOf(text: string, name: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, labels = '', value] of text.matchAll(new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, 'gm'))) {
    const organization = /organization="([^"]*)"/.exec(labels)?.[1] as string;
    found.set(organization, (found.get(organization) ?? 0) + Number(value));
  }
  return found;
}

describe('the metrics of a worker', () => {
  it('name the first organizations by id and sum the others, whatever organizations come and go', async () => {
    const state = { ids: [] as string[] };
    const on = measuring(state);
    const jobs = 5 * 250;
    for (let round = 0; round < 5; round += 1) {
      state.ids = idsFrom(round * 250, 250);
      for (const organization of state.ids.toReversed()) {
        on.began({ organization, kind: 'run', lagMs: 0 });
        on.ended({ organization, kind: 'run', result: 'done', ms: 1 });
      }
    }
    const found = seriesOf(await on.text(), 'trustward_jobs_total');
    expect(found.size).toBe(NAMED_MAX + 1);
    expect([...found.keys()].filter((id) => id !== '(others)').sort()).toEqual(idsFrom(0, NAMED_MAX));
    expect([...found.values()].reduce((sum, one) => sum + one, 0)).toBe(jobs);
  });

  it('name so many organizations that fail, and count the others', async () => {
    const state = { ids: idsFrom(0, 250), failing: idsFrom(0, 250) };
    const on = measuring(state);
    const found = seriesOf(await on.text(), 'trustward_organizations_failing');
    expect([found.size, found.get('o-00000'), found.get('(others)')]).toEqual([NAMED_MAX + 1, 1, 250 - NAMED_MAX]);
    state.failing = [];
    expect(seriesOf(await on.text(), 'trustward_organizations_failing').size).toBe(0);
  });

  it('name the problem of so many organizations, by its kind, and count the others, until it is over', async () => {
    const ids = idsFrom(0, 250);
    const problems = ids.flatMap((organization) => [
      { organization, kind: 'credential' },
      { organization, kind: 'webhooks' },
    ]);
    const state = { ids, problems };
    const on = measuring(state);
    const found = seriesOf(await on.text(), 'trustward_organization_problem');
    expect([found.size, found.get('o-00000'), found.get('(others)')]).toEqual([
      NAMED_MAX + 1,
      2,
      2 * (250 - NAMED_MAX),
    ]);
    state.problems = [];
    expect(seriesOf(await on.text(), 'trustward_organization_problem').size).toBe(0);
  });
});
