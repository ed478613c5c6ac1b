// What the drawn parts of a page show: numbers of the store, over the time that is known.
import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/base/time.ts';
import { overTime } from '../../../src/faces/web/pages/overview.tsx';
import { agoText, Curve, Tile } from '../../../src/faces/web/parts/figures.tsx';
import { START_MS } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';
import { addActed } from './acted.ts';

const BAN = 'ban_device';
const BANS = { verb: 'ban', noun: 'device' };

describe('how many were in force over a time', () => {
  it('counts a target that two rules keep so once, and lets it go with the last of them', () => {
    const at = (hour: number) => START_MS + hour * HOUR_MS;
    const changed = [
      { action: BAN, target: 'A', openedAt: at(1), endedAt: at(3) },
      { action: BAN, target: 'A', openedAt: at(2), endedAt: at(4) },
      { action: BAN, target: 'B', openedAt: at(-9), endedAt: at(2) },
      { action: 'disable_service', target: 'A', openedAt: at(1), endedAt: undefined },
    ];
    const points = overTime({ lasting: [{ action: BAN, count: 5 }], changed }, BANS, at(0));
    const after = (hour: number) => points.findLast((one) => one.at <= at(hour))?.count;
    expect([0, 1, 2, 3, 4].map(after)).toEqual([6, 7, 6, 6, 5]);
  });

  it('is what the store has: those in force now are the last point', async () => {
    const { store } = openPages();
    await addActed(store, 'run1', [
      { id: '1', outcome: 'succeeded', status: 'standing' },
      { id: '2', outcome: 'succeeded', status: 'orphaned' },
      { id: '3', outcome: 'succeeded', status: 'ended' },
    ]);
    for (const fromMs of [0, START_MS - 1, START_MS, START_MS + DAY_MS])
      expect(overTime(await store.inForceSince(fromMs), BANS, fromMs).at(-1)?.count).toBe(2);
  });
});

describe('a curve', () => {
  const curve = { fromMs: 100, toMs: 200, tone: 'bad', label: 'Banned: 3 now', ground: 'zero' } as const;

  it('has its numbers as a text alternative, and begins where something is known', () => {
    const points = [{ at: 150, count: 1 }, ...[{ at: 175, count: 3 }]];
    const html = String(Curve({ ...curve, points }));
    expect(html).toContain('role="img" aria-label="Banned: 3 now"');
    expect(html).toContain('d="M120 31H180V3H240"');
  });

  it('is not drawn from nothing', () => {
    expect(Curve({ ...curve, points: [] })).toBeNull();
  });
});

describe('a time as how long ago it was', () => {
  it.each([
    [0, 'just now'],
    [-30_000, 'in a moment'],
    [61_000, '1 min ago'],
    [3 * HOUR_MS, '3 h ago'],
    [47 * HOUR_MS, '47 h ago'],
    [9 * DAY_MS, '9 days ago'],
    [-2 * HOUR_MS, 'in 2 h'],
  ])('%i ms is %s', (span, text) => {
    expect(agoText(START_MS - span, START_MS)).toBe(text);
  });
});

describe('the first page', () => {
  it('has what was done by the hour, and counts it', async () => {
    const { get, store } = openPages();
    await addActed(store, 'run1', [
      { id: '1', outcome: 'succeeded', status: 'standing' },
      { id: '2', outcome: 'succeeded', status: 'standing' },
      { id: '3', outcome: 'failed' },
    ]);
    const { text } = await get('/');
    expect(text).toContain('Banned by Trustward 2');
    expect(text).toContain('2 devices banned 0 devices unbanned');
  });

  it('says that compromised devices are not known where no rule reads that', async () => {
    const { get, store } = openPages();
    store.baseline = async (source) => ({ source, takenAt: START_MS, count: 7, values: {} });
    expect((await get('/')).text).toContain('Compromised Not known: no rule reads MdmData.CompromisedStatus.');
  });

  it('says how old the numbers are that were read', async () => {
    const { get, store, clock } = openPages();
    const values = { 'MdmData.CompromisedStatus': { TRUE: 2 } };
    store.baseline = async (source) => ({ source, takenAt: clock.nowMs() - 9 * HOUR_MS, count: 7, values });
    const { text } = await get('/');
    expect(text).toMatch(/Devices 7 as many as 9 h ago · read 9 h ago/);
    expect(text).toMatch(/Compromised 2 as many as 9 h ago · read 9 h ago/);
  });

  it('lets nobody stop who may not, and has the switch on every page for who may', async () => {
    const { get } = openPages();
    for (const path of ['/', '/rules', '/audit', '/health']) {
      expect((await get(path)).html).toContain('action="/stop"');
      expect((await get(path, 'read')).html).not.toContain('action="/stop"');
    }
  });
});

describe('a tile', () => {
  it('tells the change since its first day, whatever was known before that day', () => {
    const day = 86_400_000;
    const nowMs = 30 * day;
    const points = [1, 9, 4].map((count, at) => ({ at: [0, 10, 29][at] as number, count }));
    const shown = points.map(({ at, count }) => ({ at: at * day, count }));
    const html = String(Tile({ title: 'Banned', tone: 'bad', ground: 'zero', points: shown, nowMs, spanMs: 7 * day }));
    expect(html).toContain('5 fewer than 7 days ago');
    expect(html).toContain('4 now; 4 to 9 since 7 days ago');
  });
});
