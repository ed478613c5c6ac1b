// report: a summary counts what happened since a time, and nothing before it, on a real database.
import { describe, expect, it } from 'vitest';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { buildSummary } from '../../../src/faces/report/summary/build.ts';
import { summaryMarkdown, summaryText } from '../../../src/faces/report/summary/words.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { bodyOf, openEndpoint } from '../../support/endpoint.ts';
import { addLiveRun, addRun, decision, fakeClock, openStore, START_MS } from '../../support/filled-store.ts';

const MINUTE_MS = 60_000;
const HOSTILE = 'evil\u202e\n# x|<b>@admin';
const at = (minutes: number) => START_MS + minutes * MINUTE_MS;
const time = (minutes: number) => new Date(at(minutes)).toISOString();

/** Scheduled runs, begun at these minutes; each takes three seconds. */
async function scheduled(store: SqliteStore, minutes: readonly number[], error?: string) {
  for (const minute of minutes) {
    const failing = error === undefined ? {} : { error };
    await addRun(store, { id: `run${minute}`, trigger: 'schedule', startedAt: at(minute), ...failing });
  }
}

describe('the runs of a summary', () => {
  it('are counted by status, with why some were aborted and where none was made for longer than the schedule allows', async () => {
    const store = openStore();
    await scheduled(store, [0, 5, 10, 15]);
    await scheduled(store, [20], 'the server is gone');
    await scheduled(store, [60, 65]);
    const { runs } = await buildSummary(store, at(4), at(70));
    expect(runs).toEqual({
      completed: 5,
      aborted: 1,
      running: 0,
      afterEvents: 0,
      first: 2,
      last: 7,
      usualMs: 5 * MINUTE_MS,
      aborts: { count: 1, some: [{ run: 5, at: time(20), error: 'the server is gone' }] },
      outages: { count: 1, some: [{ from: new Date(at(20) + 3_000).toISOString(), to: time(60), after: 5 }] },
      isCut: false,
    });
  });

  it('show no outage before the first scheduled run', async () => {
    const store = openStore();
    await addRun(store, { id: 'by-hand', trigger: 'command', startedAt: at(-60) });
    await scheduled(store, [0, 5, 10, 15]);
    const { runs } = await buildSummary(store, at(-120), at(16));
    expect(runs).toMatchObject({ completed: 5, usualMs: 5 * MINUTE_MS, outages: { count: 0 } });
  });

  it('show an outage that began before the time, and one that lasts', async () => {
    const store = openStore();
    await scheduled(store, [0, 5, 10, 15]);
    const lasting = { from: new Date(at(15) + 3_000).toISOString(), to: null, after: 4 };
    const summary = await buildSummary(store, at(30), at(60));
    expect(summary.runs).toMatchObject({ completed: 0, first: null, outages: { some: [lasting] } });
    expect(summaryText(summary)).toContain('NO RUN since 2026-11-21 09:15:03 UTC, after run 4');
    expect((await buildSummary(store, at(10), at(16))).runs.outages.count).toBe(0);
  });

  it('show an outage of whole runs while looks at the event log still make theirs', async () => {
    const store = openStore();
    await scheduled(store, [0, 5, 10, 15]);
    for (const minute of [17, 20, 26, 40])
      await addRun(store, { id: `look${minute}`, trigger: 'watch', scoped: true, startedAt: at(minute) });
    const summary = await buildSummary(store, at(16), at(60));
    const lasting = { from: new Date(at(15) + 3_000).toISOString(), to: null, after: 4 };
    expect(summary.runs).toMatchObject({ completed: 4, afterEvents: 4, outages: { count: 1, some: [lasting] } });
    expect(summaryText(summary)).toContain(
      '4 runs (run 5 to run 8): 4 completed, 0 aborted, 4 of them after new events',
    );
  });

  it('show no outage where too few scheduled runs were made to know what is usual', async () => {
    const store = openStore();
    await scheduled(store, [0, 60]);
    expect((await buildSummary(store, at(0), at(600))).runs).toMatchObject({ usualMs: null, outages: { count: 0 } });
  });
});

describe('a summary', () => {
  async function eventful() {
    const clock = fakeClock();
    const store = openStore(clock);
    await addLiveRun(store);
    clock.advance(10 * MINUTE_MS);
    const held = { decision: 'hold', reason: 'limits', mode: 'enforce' } as const;
    await addRun(store, {
      id: 'run2',
      mode: 'enforce',
      startedAt: at(10),
      decisions: [decision({ id: 'h1', target: HOSTILE, ...held }), decision({ id: 'h2', target: 'S-2', ...held })],
    });
    await addRun(store, { id: 'run3', startedAt: at(11), endedDecisions: ['h2'] });
    const reasons = [{ code: 'shrunk', text: 'devices shrank from 100 to 3' }];
    await store.appendAudit([
      { kind: 'source.untrusted', body: { run: 'run2', source: 'devices', state: 'read', reasons } },
      { kind: 'source.untrusted', body: { run: 'run3', source: 'devices', state: 'read', reasons } },
      { kind: 'plan.expired', body: { plan: 'plan9', was: 'pending' } },
      ...['failed', 'failed', 'succeeded'].map((outcome) => ({
        kind: 'intent.settled' as const,
        body: { intent: 'i9', action: 'unban_device', target: 'S-9', run: 'run2', outcome, note: 'x' },
      })),
      {
        kind: 'intent.settled',
        body: { intent: 'i8', action: 'ban_device', target: 'S-8', run: 'run3', outcome: 'failed' },
      },
      { kind: 'episode.overridden', body: { action: 'ban_device', target: 'S-7', rule: 'ban' } },
      { kind: 'run.started', body: { run: 'run3', by: 'ci' } },
    ]);
    await stopEverything(
      { store, clock, checkpointer: undefined },
      { by: 'ana (token admin)', reason: 'the MDM lies' },
    );
    return { store, clock };
  }

  it('counts by action, rule, plan, person and source, with the ids and run numbers that lead on', async () => {
    const { store } = await eventful();
    expect(await buildSummary(store, at(5), at(20))).toMatchObject({
      calls: [
        { action: 'unban_device', outcome: 'done', count: 1, some: [{ target: 'S-9', intent: 'i9', run: 2 }] },
        { action: 'ban_device', outcome: 'failed', count: 1, some: [{ target: 'S-8', run: 3 }] },
      ],
      held: [
        {
          rule: 'ban-compromised-device',
          reason: 'limits',
          count: 2,
          inForce: 1,
          some: [{ target: 'S-2', run: 2 }, {}],
        },
      ],
      expired: { plans: { count: 1, some: [{ id: 'plan9' }] }, exemptions: { count: 0 } },
      people: {
        count: 3,
        some: expect.arrayContaining([
          expect.objectContaining({ by: 'ana (token admin)', text: 'stopped everything', reason: 'the MDM lies' }),
          expect.objectContaining({ by: null, text: 'reversed ban_device S-7 of rule ban' }),
          expect.objectContaining({ by: 'ci', text: 'asked for 1 run (run 3)' }),
        ]),
      },
      untrusted: [{ source: 'devices', code: 'shrunk', readings: 2, firstRun: 2, lastRun: 3 }],
    });
  });

  it('names no run for what a person released', async () => {
    const { store } = await eventful();
    const intent = { intent: 'i7', action: 'unban_device', target: 'S-7' };
    await store.appendAudit([
      { kind: 'intent.planned', body: { ...intent, released: true, by: 'ana' } },
      { kind: 'intent.settled', body: { ...intent, run: 'run3', outcome: 'succeeded', note: 'Success' } },
    ]);
    const summary = await buildSummary(store, at(5), at(20));
    expect(summary.calls[0]?.some[0]).toMatchObject({ intent: 'i7', run: null });
    expect(summaryText(summary)).toContain('S-7 (intent i7)');
  });

  it('is one screen of text that no name controls, and the same in Markdown', async () => {
    const { store } = await eventful();
    const summary = await buildSummary(store, at(5), at(20));
    const text = summaryText(summary, { width: 80 });
    expect(text).not.toContain(HOSTILE);
    expect(text.split('\n').length).toBeLessThan(45);
    for (const width of [72, 80, 93, 100, 160]) {
      const lines = summaryText(summary, { width }).split('\n');
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    }
    for (const title of ['RUNS', 'DONE', 'FAILED', 'HELD', 'EXPIRED', 'WHAT PEOPLE DID', 'NOT TRUSTED'])
      expect(text).toContain(`\n${title}\n  `);
    const markdown = summaryMarkdown(summary);
    expect(markdown).not.toContain(HOSTILE);
    expect(markdown).toContain(
      '## Not trusted\n\n- devices, 2 readings (run 2 to run 3): devices shrank from 100 to 3\n',
    );
  });

  it('of a time without anything says so', async () => {
    const { store } = await eventful();
    expect(summaryText(await buildSummary(store, at(60), at(90)))).toBe(
      'Trustward: summary, 2026-11-21 10:00:00 UTC to 2026-11-21 10:30:00 UTC\n\nRUNS\n  no run\n\nNOTHING ELSE\n  Nothing was done, held or expired.\n',
    );
  });

  it('is read over HTTP with scope `read`, of the last 12 hours by default', async () => {
    const { ask, store, clock } = openEndpoint();
    const body = { intent: 'i1', action: 'ban_device', target: 'S-1', outcome: 'succeeded' };
    await store.appendAudit([{ kind: 'intent.settled', body }]);
    clock.advance(13 * 60 * MINUTE_MS);
    const since = (query: string) => bodyOf<{ calls: object[] }>(ask('GET', `/api/summary${query}`, { scope: 'read' }));
    expect((await since('')).calls).toEqual([]);
    expect((await since('?since=14h')).calls).toMatchObject([{ action: 'ban_device', outcome: 'done', count: 1 }]);
    expect((await ask('GET', '/api/summary?since=soon')).status).toBe(400);
    expect((await ask('GET', '/api/summary', { scope: 'none' })).status).toBe(401);
  });
});
