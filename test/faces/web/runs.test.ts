// What the first page, the pages of runs and the box for searching show, in which order, and that nothing hostile is run.
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/domain/decision.ts';
import type { Rule } from '../../../src/domain/rule.ts';
import type { RunRecord } from '../../../src/domain/store.ts';
import { addRun, decision, deviceSeen, intent, plan, START_MS, tally } from '../../support/filled-store.ts';
import { openPages, textOf } from '../../support/pages.ts';
import { idp } from '../../support/transmitter.ts';
import { addActed } from './acted.ts';

const HOUR_MS = 3_600_000;

describe('the overview', () => {
  it('shows that all is well, and when the next run comes', async () => {
    const { get } = openPages({ nextRunAtMs: () => Date.UTC(2026, 10, 21, 9, 40) });
    const { status, text } = await get('/');
    expect(status).toBe(200);
    expect(text).toContain('All is well. As of 2026-11-21 09:00:00 UTC .');
    expect((await get('/health')).text).toContain('next run 2026-11-21 09:40:00 UTC');
  });

  it('shows what looks at the event log do, and the sources as the last whole run read them', async () => {
    const text = 'every 30s; last read 2026-11-22 10:00:30 UTC; 1 look';
    const { get, store } = openPages({ readiness: async () => [{ name: 'watch', ok: true, text }] });
    const startedAt = START_MS + 60_000;
    await addRun(store, { trigger: 'schedule', sources: { devices: { count: 4_000 } } });
    const sources = { devices: { form: 'single', count: 3 } } as const;
    await addRun(store, { id: 'look', trigger: 'watch', scoped: true, startedAt, sources });
    const page = await get('/health');
    expect(page.text).toContain('watch every 30s; last read 2026-11-22 10:00:30 UTC');
    expect(page.text).toContain('devices 4,000, paged');
  });

  it('names transmitters whose signals may be missing, and what is known of each', async () => {
    const asked = idp({ delivery: { method: 'poll', url: 'https://idp.example/poll' } });
    const guards = { ask: [], lastDevice: false, perDay: undefined, transmitters: [asked, idp({ name: 'edr' })] };
    const { get, store } = openPages({ rules: () => [{ guards } as unknown as Rule] });
    const proven = { fromMs: START_MS - HOUR_MS, toMs: START_MS - HOUR_MS };
    await store.signalBox().receive({ transmitter: 'idp', atMs: proven.toMs, signals: [], proven, refused: {} });
    expect((await get('/')).text).toContain('Something is wrong. Signals of idp may be missing.');
    const { text } = await get('/health');
    expect(text).toContain('idp in doubt last heard of: 1 h (2026-11-21 08:00Z) 0 signals accepted');
    expect(text).toContain('edr nothing yet nothing has come yet');
  });

  it('shows the sources of the run before while a run still reads', async () => {
    const { get, store } = openPages();
    await addRun(store, { trigger: 'schedule', sources: { devices: { count: 4_000 } } });
    const run = (await store.run('run1')) as RunRecord;
    const next = {
      ...run,
      id: 'run2',
      status: 'running',
      startedAt: START_MS + 60_000,
      finishedAt: undefined,
    } as const;
    await store.beginRun(next, [{ kind: 'run.started', body: { run: 'run2' } }]);
    const { text } = await get('/health');
    expect(text).toContain('As the last run read them at 2026-11-21 09:00:00 UTC .');
    expect(text).toContain('devices 4,000, paged');
    expect(text).not.toContain('Nothing was read yet');
  });

  it('does not show that all is well while an action is in doubt, parked, or failed and still to be done', async () => {
    const { get, store } = openPages();
    await addActed(store, 'run1', [
      { id: '1', outcome: 'succeeded', status: 'standing' },
      { id: '2', outcome: 'unknown' },
      { id: '3', outcome: 'parked' },
      { id: '4', outcome: 'failed' },
    ]);
    const { text } = await get('/');
    expect(text).not.toContain('All is well.');
    expect(text).toContain(
      '1 action failed and is still to be done, 1 action is in doubt, 1 action is parked and waits for a person. As of',
    );
    await store.setStop({ at: START_MS, by: 'ana', reason: 'a test' }, []);
    expect((await get('/')).text).toContain(
      'Stopped by a person: nothing is called. 1 action failed and is still to be done, 1 action is in doubt',
    );
  });

  it('does not show that all is well after a run that was aborted, until another one has ended', async () => {
    const { get, store } = openPages();
    await addRun(store, { id: 'a' });
    await addRun(store, { id: 'b', error: 'the API is away' });
    expect((await get('/')).text).toContain('Run 2 was aborted. As of');
    await addRun(store, { id: 'c', finished: false });
    expect((await get('/')).text).toContain('Run 2 was aborted. As of');
    await addRun(store, { id: 'd' });
    expect((await get('/')).text).toContain('All is well.');
  });

  it('names what is wrong', async () => {
    const { get } = openPages({ readiness: async () => [{ name: 'database', ok: false, text: 'the disk is full' }] });
    expect((await get('/')).text).toContain('Something is wrong. database: the disk is full');
  });

  it('leads to the sign-in page while nobody is signed in', async () => {
    const { get } = openPages();
    const { status, headers } = await get('/', 'none');
    expect([status, headers.get('location')]).toEqual([303, '/sign-in']);
  });

  it('stops everything and resumes, in the name of who is signed in', async () => {
    const { get, post, store } = openPages();
    expect((await post('/stop', { reason: 'a strange <b>ban</b>' })).status).toBe(303);
    expect(await store.stop()).toMatchObject({ by: 'adminer', reason: 'a strange <b>ban</b>' });
    const { text, html } = await get('/');
    expect(text).toContain('STOPPED. adminer stopped everything');
    expect(html).not.toContain('<b>ban</b>');
    expect(text).toContain('Stopped by a person: nothing is called.');
    expect(text).not.toContain('All is well.');
    await post('/resume', { reason: 'understood' });
    expect(await store.stop()).toBeUndefined();
  });

  it('refuses a stop without a reason as a page that says so', async () => {
    const { post, store } = openPages();
    const { status, text } = await post('/stop', {});
    expect(status).toBe(400);
    expect(text).toContain('reason');
    expect(await store.stop()).toBeUndefined();
  });

  it('shows no button to a reader, and refuses what a reader sends anyway', async () => {
    const { get, post, store } = openPages();
    const { html } = await get('/', 'read');
    expect([...html.matchAll(/<form[^>]*action="([^"]*)"/g)].map(([, action]) => action)).toEqual([
      '/search',
      '/sign-out',
    ]);
    expect((await post('/stop', { reason: 'x' }, 'read')).status).toBe(403);
    expect(await store.stop()).toBeUndefined();
  });

  it('travels compressed to who accepts that', async () => {
    const { app } = openPages();
    const plain = await app.request('/sign-in', { headers: { host: '127.0.0.1:8080' } });
    const zipped = await app.request('/sign-in', {
      headers: { host: '127.0.0.1:8080', 'accept-encoding': 'gzip, br' },
    });
    expect([zipped.headers.get('content-encoding'), zipped.headers.get('vary')]).toEqual(['gzip', 'Accept-Encoding']);
    expect(gunzipSync(Buffer.from(await zipped.arrayBuffer())).toString()).toBe(await plain.text());
  });

  it('has no inline script, style or handler', async () => {
    const { get } = openPages({ demo: true });
    const { html, headers } = await get('/');
    expect(html).toContain('DEMO');
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=/);
    expect(headers.get('content-security-policy')).toContain("script-src 'self'");
  });
});

const NASTY = `<script>alert(1)</script>\u202e" onload="x\n${'long '.repeat(2_000)}`;
const held = decision({
  ...{ id: 'held', target: 'SERIAL-2', subject: { kind: 'device', id: 'device-2' }, subjectName: 'Bob laptop' },
  ...{ decision: 'hold', reason: 'approval_needed', reasonText: 'the rule is of mode approve', mode: 'approve' },
  ...{ cappedBy: undefined, outcome: undefined },
});

function many(count: number, over: Partial<Decision> = {}): Decision[] {
  return Array.from({ length: count }, (_, at) => {
    const id = `d${String(at).padStart(5, '0')}`;
    return decision({ id, target: `S-${id}`, subject: { kind: 'device', id }, subjectName: `Laptop ${id}`, ...over });
  });
}

describe('the list of runs', () => {
  it('shows the newest first, of one status if that is chosen', async () => {
    const { get, store } = openPages();
    await addRun(store, { id: 'a' });
    await addRun(store, { id: 'b', error: 'the API is away' });
    const all = await get('/runs');
    expect([...all.html.matchAll(/href="\/runs\/(\d+)"/g)].map(([, seq]) => seq)).toEqual(['2', '1']);
    expect(all.text).toContain('the API is away');
    const aborted = await get('/runs?status=aborted');
    expect([...aborted.html.matchAll(/href="\/runs\/(\d+)"/g)].map(([, seq]) => seq)).toEqual(['2']);
    expect((await get('/runs?status=lost')).status).toBe(400);
  });

  it('has the rest on further pages', async () => {
    const { get, store } = openPages();
    for (let at = 0; at < 51; at += 1) await addRun(store, { id: `r${at}` });
    const { html } = await get('/runs');
    const next = /href="([^"]*)" rel="next"/.exec(html)?.[1] as string;
    expect(next).toBe('/runs?before=2');
    const rest = await get(next);
    expect([...rest.html.matchAll(/href="\/runs\/(\d+)"/g)].map(([, seq]) => seq)).toEqual(['1']);
    expect(rest.html).not.toContain('rel="next"');
  });

  it.each(['dry-run', 'approve', 'enforce'])('begins a run of mode %s, and leads to its report', async (mode) => {
    const { post, requests } = openPages();
    const { status, headers } = await post('/runs', { mode }, 'trigger');
    expect([status, headers.get('location')]).toEqual([303, '/runs/1']);
    expect(requests).toEqual([{ mode, rules: undefined, trigger: 'http', waitForDoubts: false, by: 'triggerer' }]);
  });

  it('asks before a run that acts, and shows a reader no button', async () => {
    const { get, post, requests } = openPages();
    const { html } = await get('/runs');
    expect(html.match(/data-confirm="[^"]+"[^>]*>Run in mode (approve|enforce)/g)).toHaveLength(2);
    expect((await get('/runs', 'read')).html).not.toContain('method="post" action="/runs"');
    expect((await post('/runs', { mode: 'enforce' }, 'read')).status).toBe(403);
    expect((await post('/runs', { mode: 'quick' })).status).toBe(400);
    expect(requests).toEqual([]);
  });
});

describe('the report of a run', () => {
  it('begins with one sentence, then what changed, whom it affects, what would be done, and what waits', async () => {
    const { get, store } = openPages();
    await addRun(store, {
      ...{ mode: 'enforce', decisions: [decision(), held], plan: plan(held) },
      tallies: [
        tally({
          ...{ unknown: 1, missing: { 'MdmData.CompromisedStatus': 1 } },
          limits: { max: 10, percent: 50, allowed: 5, targets: 3 },
          examples: [{ subject: 'device-9', name: 'Old laptop', verdict: 'unknown', reason: 'it is stale' }],
        }),
      ],
    });
    const { text, status, html } = await get('/runs/latest');
    expect(status).toBe(200);
    const inOrder = [
      /Run \d+: enforcing run, 20/.exec(text)?.[0] as string,
      'Would ban 1 device (owners not known) and leave 1 more waiting for a yes; nothing was changed.',
      'There is no earlier completed live run',
      'Who matches, and what is decided',
      'Would act (1)',
      'Ana laptop',
      'MdmData.CompromisedStatus = "TRUE"',
      'Waits for a yes (1)',
      'Waits because the rule is of mode approve.',
      'It waits in plan plan1',
      'Approving and applying it would affect 1 device',
      'Unknown (1)',
      'Old laptop',
      'How to get what is missing',
      'Limits and ceilings',
      '3 of 5',
      'Sources',
      'No match',
      'How the run went',
    ];
    const places = inOrder.map((words) => text.indexOf(words));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(html).toContain('href="/plans/plan1"');
    expect(html).toContain('href="/subjects/device/device-2"');
  });

  it('folds what was skipped and how the machine worked, but not a source that is not trusted', async () => {
    const { get, store } = openPages();
    const skipped = decision({ id: 'skipped', target: 'SERIAL-9', decision: 'skip', reason: 'already_so' });
    await addRun(store, { id: 'a', decisions: [decision(), skipped] });
    const reasons = [{ source: 'devices' as const, code: 'shrunk' as const, text: 'devices: 100 to 3' }];
    await addRun(store, { id: 'b', decisions: [], sources: { devices: { trusted: false, reasons } } });
    const isOpen = (html: string) => [...html.matchAll(/<details data-group id="group-(\w+)[^"]*"( open)?>/g)];
    const { html } = await get('/runs/1');
    expect(isOpen(html).map(([, kind, open]) => [kind, open !== undefined])).toEqual([
      ['would', true],
      ['skip', false],
    ]);
    expect(isOpen((await get('/runs/1?q=SERIAL-9')).html).map(([, , open]) => open)).toEqual([' open']);
    for (const title of ['Sources', 'Rules', 'How the run went'])
      expect(html).toContain(`<details class="card"><summary><h2>${title}</h2></summary>`);
    expect((await get('/runs/2')).html).toContain('<section class="card"><h2>Sources</h2>');
  });

  it('names what is new and what is gone since the run before', async () => {
    const { get, store } = openPages();
    await addRun(store, { id: 'a', decisions: [decision(), held] });
    const newer = decision({ id: 'new', target: 'SERIAL-3', subject: { kind: 'device', id: 'device-3' } });
    await addRun(store, { id: 'b', decisions: [newer], endedDecisions: ['held'] });
    const { text } = await get('/runs/2');
    expect(text).toMatch(/Since run 1 \([^)]*\): 1 new, 0 changed, 1 gone, 1 as before\./);
    expect(text).toContain('gone: ban_device of Bob laptop, SERIAL-2');
  });

  it('leads to every row of a large group', async () => {
    const { get, store } = openPages();
    await addRun(store, { decisions: many(130) });
    const seen: string[] = [];
    let path: string | undefined = '/runs/1';
    for (let page = 0; path !== undefined && page < 5; page += 1) {
      const { html, status } = await get(path);
      expect(status).toBe(200);
      seen.push(...[...html.matchAll(/href="\/subjects\/device\/(d\d+)"/g)].map(([, id]) => id as string));
      path = /href="([^"]*)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
    }
    expect(seen).toEqual(many(130).map(({ id }) => id));
  });

  it('narrows its rows to those that a text names, in any case, and keeps its figures', async () => {
    const { get, store } = openPages();
    await addRun(store, { decisions: many(60) });
    const { text } = await get('/runs/1?q=laptop%20D00059');
    expect(text).toContain('Would ban 60 devices');
    expect(text).toContain('1 of 60 with laptop D00059');
    expect(text).toContain('Laptop d00059');
    expect(text).not.toContain('Laptop d00001');
    expect((await get('/runs/1?q=nobody')).text).toContain('0 of 60 with nobody');
  });

  it('is never an old one: neither after a change nor after the end of its plan', async () => {
    const { get, store, clock } = openPages();
    await addRun(store, { mode: 'enforce', decisions: [decision(), held], plan: plan(held) });
    expect((await get('/runs/1')).text).toContain('It waits in plan plan1');
    const stop = { by: 'ana', reason: 'a strange ban', at: clock.nowMs() };
    await store.setStop(stop, [{ kind: 'stop.set', body: { by: stop.by, reason: stop.reason, since: stop.at } }]);
    expect((await get('/runs/1')).text).toContain('a strange ban');
    clock.advance(90_000_000);
    expect((await get('/runs/1')).text).toContain('Plan plan1 expired');
  });

  it('shows the outcome of what was done', async () => {
    const { get, store } = openPages();
    const live = decision({ mode: 'enforce', cappedBy: undefined, outcome: undefined, intentId: 'intent1' });
    const run = await addRun(store, { mode: 'enforce', decisions: [live], intents: [intent()] });
    await store.markSent({ intentId: 'intent1', notes: [], run: run.id });
    await store.settle({ intentId: 'intent1', notes: [], outcome: 'succeeded', note: 'Success' });
    const { text } = await get('/runs/1');
    expect(text).toContain('Acted on (1)');
    expect(text).toMatch(/succeeded 2026-11-21 09:00:00 UTC ?: Success/);
  });

  it('reads itself again only while the run is under way', async () => {
    const { get, store } = openPages();
    await addRun(store, { id: 'a' });
    await addRun(store, { id: 'b', finished: false });
    const ended = (await get('/runs/1')).html;
    expect(ended).not.toContain('data-live');
    expect(ended).toMatch(/<section id="report"><h1>/);
    const { html, text } = await get('/runs/2');
    expect(html).toContain('data-live="run intent decision plan"');
    expect(html).toMatch(
      /<section id="report" hx-get="\/runs\/2" hx-select="#report" hx-select-oob="#inbox-badge" hx-trigger="live-run from:body/,
    );
    // What happens before the stream is open is read from it, too.
    expect(html).toContain(`data-live-after="${(await store.auditHead()).seq}"`);
    expect(text).toContain('This run is still under way.');
  });

  it('escapes every hostile text, and spells out what is hidden', async () => {
    const { get, store } = openPages();
    const subject = { kind: 'device', id: NASTY } as const;
    const nasty = { subject, subjectName: NASTY, target: NASTY, reasonText: NASTY, facts: { [NASTY]: NASTY } };
    await addRun(store, {
      decisions: [decision(nasty), decision({ ...nasty, id: 'two', decision: 'skip', reason: 'exempt' })],
      tallies: [
        tally({
          ...{ title: NASTY, unknown: 1, missing: { [NASTY]: 1 } },
          examples: [{ subject: NASTY, name: NASTY, verdict: 'unknown', reason: NASTY }],
        }),
      ],
      error: NASTY,
    });
    for (const path of ['/runs', '/runs/1', `/runs/1?q=${encodeURIComponent('<script>')}`]) {
      const { html, text, status } = await get(path);
      expect([path, status]).toEqual([path, 200]);
      expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|<[^>]*\son[a-z]+=|\u202e/);
      expect(text).toContain('⟨U+202E⟩');
    }
  });

  it('answers 404 for a run, and for a group, that does not exist', async () => {
    const { get, store } = openPages();
    expect((await get('/runs/latest')).status).toBe(404);
    await addRun(store, { decisions: many(3) });
    expect((await get('/runs/7')).status).toBe(404);
    expect((await get('/runs/1/group?group=lost&after=d00001')).status).toBe(404);
    expect((await get('/runs/1/group')).status).toBe(400);
  });

  it.each([
    ['html', 'text/html; charset=utf-8', '<!DOCTYPE html>'],
    ['csv', 'text/csv; charset=utf-8', 'decision_id,'],
    ['json', 'application/json', '"sentence"'],
    ['md', 'text/markdown; charset=utf-8', '# Trustward'],
  ])('has a file of it as %s', async (format, type, content) => {
    const { get, store } = openPages();
    await addRun(store, { decisions: many(2) });
    expect((await get('/runs/latest')).html).toContain(`href="/runs/1/report.${format}"`);
    const { headers, html } = await get(`/runs/1/report.${format}`, 'read');
    expect(headers.get('content-type')).toBe(type);
    expect(headers.get('content-disposition')).toBe(`attachment; filename="trustward-run-1.${format}"`);
    expect(html).toContain(content);
    expect((await get(`/runs/1/report.${format}`, 'none')).status).toBe(303);
  });

  it('says the same as the file, and below it has the time around it', async () => {
    const { get, store } = openPages();
    await addRun(store, { mode: 'enforce', decisions: [...many(3), held], plan: plan(held) });
    const main = (html: string) => /<main[^>]*>([\s\S]*)<\/main>/.exec(html)?.[1] ?? '';
    const rows = (html: string) =>
      main(html)
        .match(/<tr data-row[\s\S]*?<\/tr>/g)
        ?.map(textOf);
    const [report = '', overTime = ''] = (await get('/runs/1?range=24h')).html.split(
      /(?=<section [^>]*id="over-time")/,
    );
    expect(rows(`${report}</main>`)).toEqual(rows((await get('/runs/1/report.html')).html));
    expect(overTime).toContain('aria-label="Matches: last 1');
    expect(overTime).toContain('href="/runs/1?range=30d#over-time"');
  });
});

const HOSTILE = '<img src=x onerror=alert(1)>\u202e';

async function found() {
  const pages = openPages();
  const held = decision({ decision: 'hold', reason: 'limits' });
  const service = {
    kind: 'service',
    id: 'svc/1',
    serial: '',
    name: 'Wiki',
    platform: '',
    model: '',
    owners: undefined,
    facts: 0,
  } as const;
  const devices = [
    deviceSeen('d1', { name: 'Laptop', owners: ['ana@example.com'] }),
    deviceSeen('d2', { name: 'Laptop' }),
    deviceSeen('d3', { name: HOSTILE }),
    deviceSeen('d4', { name: HOSTILE, serial: '12' }),
  ];
  await addRun(pages.store, {
    id: '0000000000000000000000run1',
    mode: 'enforce',
    decisions: [held],
    plan: plan(held, { id: '000000000000000000000plan1', runId: '0000000000000000000000run1' }),
    identities: [
      { kind: 'device', changed: devices, had: undefined, readAt: 1 },
      { kind: 'service', changed: [service], had: undefined, readAt: 1 },
    ],
  });
  return pages;
}

describe('the box to search', () => {
  it.each([
    ['s-D1', '/subjects/device/d1'],
    [' d2 ', '/subjects/device/d2'],
    ['wiki', '/subjects/service/svc%2F1'],
    ['ANA@example.com', '/subjects/user/ana%40example.com'],
    ['12', '/subjects/device/d4'],
    ['1', '/runs/1'],
    ['000000000000000000000plan1', '/plans/000000000000000000000plan1'],
    ['0000000000000000000000RUN1', '/runs/1'],
  ])('leads from %j to %s', async (typed, path) => {
    const { get } = await found();
    const { status, headers } = await get(`/search?q=${encodeURIComponent(typed)}`, 'read');
    expect([status, headers.get('location')]).toEqual([303, path]);
  });

  it('shows all that a name may mean, to choose from', async () => {
    const { get } = await found();
    const { status, text, html } = await get('/search?q=laptop');
    expect(status).toBe(200);
    expect(text).toContain('laptop names 2');
    expect(text).toContain('ana@example.com');
    for (const id of ['d1', 'd2']) expect(html).toContain(`href="/subjects/device/${id}"`);
  });

  it('shows hostile names as text', async () => {
    const { get } = await found();
    const { html, text } = await get(`/search?q=${encodeURIComponent(HOSTILE)}`);
    expect(html).not.toContain('<img');
    expect(text).toContain('<img src=x onerror=alert(1)>⟨U+202E⟩');
  });

  it('offers what has it in its name when nothing is called so', async () => {
    const { get } = await found();
    expect((await get('/search?q=lap')).text).toMatch(/nothing is known as lap ; names that have it: .*Laptop/);
  });

  it('says what was searched and what to do when nothing is called so', async () => {
    const { get } = await found();
    const { status, text, html } = await get('/search?q=nobody%22%3E');
    expect(status).toBe(200);
    expect(text).toContain('nothing is known as nobody"> : no trusted snapshot has shown it as an id');
    expect(text).toContain('is known after the next one');
    expect(html).not.toContain('nobody">');
  });

  it('is there with hints when nothing was typed, and refuses what is too long', async () => {
    const { get } = await found();
    expect((await get('/search')).text).toContain('What it finds');
    expect((await get('/search?q=%20')).text).toContain('What it finds');
    expect((await get(`/search?q=${'x'.repeat(1_001)}`)).status).toBe(400);
  });
});
