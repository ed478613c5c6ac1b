// What the drawn parts of a page show: numbers of the store, over the time that is known.
import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/base/time.ts';
import { EVIDENCE_THRESHOLDS } from '../../../src/domain/evidence.ts';
import { identityOf } from '../../../src/domain/identity.ts';
import { overTime } from '../../../src/faces/web/pages/overview.tsx';
import { agoText, Curve, Tile } from '../../../src/faces/web/parts/figures.tsx';
import { evidenceOf } from '../../history/evidence/figures.ts';
import { addRun, START_MS, tally } from '../../support/filled-store.ts';
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

describe('what rules matched and did over a range', () => {
  const RULE = 'ban-compromised-device';

  async function filled() {
    const pages = openPages();
    const { store, clock } = pages;
    for (const [days, match, unknown] of [
      [20, 40, 7],
      [3, 5, 7],
      [1, 2, 9],
    ] as const) {
      const startedAt = START_MS - days * DAY_MS;
      await addRun(store, { id: `run${days}`, startedAt, tallies: [tally({ rule: RULE, match, unknown })] });
    }
    const acted = clock.nowMs() + 1;
    await addActed(store, 'live', [
      { id: '1', outcome: 'succeeded', status: 'standing' },
      { id: '2', outcome: 'succeeded', status: 'standing' },
      { id: '3', outcome: 'failed' },
    ]);
    clock.advance(acted - clock.nowMs() + HOUR_MS);
    return pages;
  }

  it('ends at the run on the page of a run: what came later is not shown', async () => {
    const { html, text } = await (await filled()).get('/runs/2?range=30d');
    expect(html).toContain('aria-label="Matches: last 5; 5 to 40 since 17 days before.');
    expect(text).toContain('Nothing was done in the 30 days before.');
    expect(text).toContain('30 days before end of run 2');
    expect(text).not.toContain('devices banned');
  });

  it.each([
    ['', '7d', 'last 1; 1 to 40 since 7 days ago', 'last 0; 0 to 9'],
    ['?range=30d', '30d', 'last 1; 1 to 40 since 20 days ago', 'last 0; 0 to 9'],
    ['?range=24h', '24h', 'last 1; 1 to 2 since 24 h ago', 'last 0; 0 to 9'],
  ])(
    'is drawn with an axis of its own for what is unknown, and as words (%s)',
    async (query, range, match, unknown) => {
      const { get } = await filled();
      for (const path of [`/rules/${RULE}`, '/rules', '/runs']) {
        const { html, text } = await get(`${path}${query}`);
        const labels = [...html.matchAll(/aria-label="((?:Matches|Unknown): [^"]*)/g)].map(([, label]) => label);
        expect(labels).toEqual([expect.stringContaining(match), expect.stringContaining(unknown)]);
        expect(text).toContain('2 devices banned');
        expect(html).toMatch(new RegExp(`href="${path}\\?range=${range}#over-time" aria-current="true"`));
        expect(html).not.toMatch(/<canvas|style=/);
      }
    },
  );

  it('says that it shows some runs of many, and which', async () => {
    const { store, get, clock } = openPages();
    for (let at = 0; at < 24; at += 1) {
      const startedAt = START_MS + at * 5_000;
      await addRun(store, { id: `run${at}`, startedAt, tallies: [tally({ rule: RULE })] });
    }
    clock.advance(2 * HOUR_MS);
    const { text } = await get('/rules?range=30d');
    expect(text).toContain('It shows 20 of 24 runs: of each 3h the last one, and the newest.');
    await addRun(store, { id: 'chosen', scoped: true, startedAt: clock.nowMs(), tallies: [tally({ rule: RULE })] });
    expect((await get('/rules?range=30d')).text).toContain('20 of 24 runs');
    expect((await (await filled()).get('/rules?range=30d')).text).not.toContain('It shows');
  });

  it('has only what one rule did on its page', async () => {
    const { store } = await filled();
    const asked = { untilMs: START_MS + HOUR_MS, steps: 24, stepMs: HOUR_MS };
    expect(await store.doneInSteps({ ...asked, rule: RULE })).toMatchObject([{ action: BAN, targets: 2 }]);
    expect(await store.doneInSteps({ ...asked, rule: 'another' })).toEqual([]);
  });

  it('is refused for a range that there is not', async () => {
    const { get } = openPages();
    expect((await get('/rules?range=1y')).status).toBe(400);
  });

  it('stands beside the limits as the last run compared them, and the evidence with its date, as bars', async () => {
    const reader = { thresholds: EVIDENCE_THRESHOLDS, isKept: () => true, of: () => evidenceOf() };
    const { get, store } = openPages({ evidence: reader });
    const limits = { max: 25, percent: 2, allowed: 8, targets: 6, inDay: { subjects: 20, allowed: 16 } };
    await addRun(store, { tallies: [tally({ rule: RULE, limits })] });
    const { html, text } = await get(`/rules/${RULE}`);
    expect(text).toContain('In a run 6 of at most 8 targets In 24 hours 20 of at most 16 devices As of run 1');
    expect(html).toMatch(
      /class="bar under"[\s\S]*6 of at most 8 targets[\s\S]*class="bar over"[\s\S]*20 of at most 16 devices/,
    );
    expect(text).toMatch(/Days of history 21 days, 14 needed Since \d{4}-\d\d-\d\d .* Made .* ago/);
    expect(html).toContain('class="bar reached"');
  });

  it('flags a rule whose mode its evidence does not allow, in the list of rules', async () => {
    const reader = { thresholds: EVIDENCE_THRESHOLDS, isKept: () => true, of: () => evidenceOf({}, { flaps: 1 }) };
    const { get } = openPages({ evidence: reader });
    expect((await get('/rules')).text).toContain('21 days of evidence: its mode enforce is not earned');
  });

  it('names a limit that is more than there are subjects as what it is', async () => {
    const { get, store } = openPages();
    const limits = { max: 25, percent: 2, allowed: 8, targets: 6, inDay: { subjects: 4, allowed: 800_000 } };
    await addRun(store, { tallies: [tally({ rule: RULE, match: 1, no_match: 9, limits })] });
    const { text } = await get(`/rules/${RULE}`);
    expect(text).toContain('In 24 hours 4 devices; all 10 are allowed (the limit is 800,000)');
    expect(text).not.toContain('of 800,000');
  });
});

describe('the first page', () => {
  it('counts every service that is off, whoever disabled it, and leads to them', async () => {
    const { get, store } = openPages();
    const changed = ['FALSE', 'FALSE', 'TRUE'].map((Enabled, at) =>
      identityOf('service', { ServiceID: `s${at}`, ServiceName: `s${at}`, Enabled }),
    );
    await store.saveIdentities([{ kind: 'service', changed, had: undefined, readAt: START_MS }]);
    const { text, html } = await get('/');
    expect(text).toContain('Services off 2 read just now');
    expect(html).toContain('href="/services?enabled=false"');
    expect((await get('/services?enabled=false')).text).toContain('2 services like this');
  });

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
    expect(text).toMatch(/Devices 7 the same as 9 h ago · read 9 h ago/);
    expect(text).toMatch(/Compromised 2 the same as 9 h ago · read 9 h ago/);
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
    expect(html).toContain('last 4; 4 to 9 since 7 days ago');
  });
});
