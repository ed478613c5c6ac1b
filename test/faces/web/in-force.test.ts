// What the pages of things in force, of exemptions and of what needs a person show, and that their buttons do what they say, for who may press them.
import { describe, expect, it } from 'vitest';
import type { IntentShown } from '../../../src/contract/nouns.ts';
import type { Output } from '../../../src/contract/table.ts';
import type { Exemption } from '../../../src/domain/exemption.ts';
import { planView } from '../../../src/faces/report/plan-view.ts';
import type { Doubles, Over } from '../../support/endpoint.ts';
import { addRun, decision, deviceSeen, plan } from '../../support/filled-store.ts';
import { type OpenedPages, openPages } from '../../support/pages.ts';
import { addActed, HOSTILE, RULE_ID } from './acted.ts';

async function opened(over: Over = {}): Promise<OpenedPages> {
  const pages = openPages(over);
  await addActed(pages.store, 'run1', [
    { id: '1', outcome: 'succeeded', status: 'standing' },
    { id: '2', outcome: 'succeeded', status: 'orphaned' },
  ]);
  pages.clock.advance(3 * 86_400_000);
  return pages;
}

const released = {
  target: 'SERIAL-1',
  action: 'ban_device',
  state: 'released',
  text: 'it was undone already',
  intent: null,
} as const;

/** Only this works. */
const releasing = (releaseClaims: Required<Doubles>['releaseClaims']): Over => ({ operations: { releaseClaims } });

describe('what is in force', () => {
  it('shows who, since when, for which rule, by which run, and what an orphaned claim means', async () => {
    const { get } = await opened();
    const { status, text, html } = await get('/in-force');
    expect(status).toBe(200);
    expect(text).toContain('All: 2');
    expect(text).toContain('1@example.com');
    expect(text).toContain('3 days');
    expect(text).toContain('run 1');
    expect(text).toContain('it is missing or off, so nothing undoes it by itself');
    expect(html).toContain('href="/subjects/device/device-1"');
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('\u202e');
    expect(html.length).toBeLessThan(40_000);
  });

  it('names when what no longer matches ends, though it is in force until then', async () => {
    const { get, store, clock } = await opened();
    const [episode] = await store.episodes(['episode-1']);
    const clearing = { ...episode!, state: 'clearing', stateSince: clock.nowMs() - 60_000 } as const;
    await addRun(store, { id: 'run2', episodes: [clearing] });
    const { text } = await get('/in-force');
    expect(text).toMatch(/in force no match now: ends with the next run at the earliest/);
    expect(text.match(/no match now/g)).toHaveLength(1);
  });

  it.each([
    ['/in-force?q=serial-2', 'device-2'],
    ['/in-force?q=2%40EXAMPLE.com', 'device-2'],
    ['/in-force?q=Laptop+2&rule=', 'device-2'],
    ['/in-force?status=standing', 'device-1'],
  ])('is narrowed by any name and by state: %s', async (path, shown) => {
    const { get } = await opened();
    const { html, text } = await get(path);
    expect(text).toContain('Those asked for: 1');
    expect([...html.matchAll(/href="\/subjects\/device\/(device-\d)"/g)].map(([, id]) => id)).toEqual([shown]);
  });

  it('shows nothing for a rule that holds nothing, and refuses a state that there is none of', async () => {
    const { get } = await opened();
    expect((await get('/in-force?rule=other')).text).toContain('Nothing like this is in force.');
    expect((await get('/in-force?status=gone')).status).toBe(400);
    expect((await get('/in-force?after=nobody')).status).toBe(200);
  });

  it('pages the oldest first, each row once', async () => {
    const pages = openPages();
    const ids = Array.from({ length: 60 }, (_, number) => `n${String(number).padStart(2, '0')}`);
    await addActed(
      pages.store,
      'run1',
      ids.map((id) => ({ id, outcome: 'succeeded', status: 'standing' })),
    );
    const rowsOf = (html: string) => [...html.matchAll(/id="claim-claim-(n\d\d)"/g)].map(([, id]) => id);
    const first = await pages.get('/in-force');
    const next = /href="([^"]*)" rel="next"/.exec(first.html)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(rowsOf(first.html)).toHaveLength(50);
    const second = await pages.get(next);
    expect([...rowsOf(first.html), ...rowsOf(second.html)]).toEqual(ids);
    expect(second.html).not.toContain('rel="next"');
  });

  it('releases one target in the name of who is signed in, and says what came of it', async () => {
    const asked: unknown[] = [];
    const { post } = await opened(
      releasing(async (input, { by }) => {
        asked.push([input, by]);
        return { released: [released] };
      }),
    );
    const { status, text } = await post(
      '/in-force/release',
      { intent: 'intent-1', reason: 'a new <b>laptop</b>' },
      'approve',
    );
    expect(asked).toEqual([[{ target: 'SERIAL-1', reason: 'a new <b>laptop</b>' }, 'approveer']]);
    expect(status).toBe(200);
    expect(text).toContain('it was undone already');
  });

  it('leads to the undo that a release has sent', async () => {
    const { post } = await opened(
      releasing(async () => ({ released: [{ ...released, intent: { id: 'undo1' } as IntentShown }] })),
    );
    const { status, headers } = await post('/in-force/release', { intent: 'intent-1', reason: 'x' });
    expect([status, headers.get('location')]).toEqual([303, '/intents/undo1']);
  });

  it('releases a target whose name no form or address brings back, and asks before in visible characters', async () => {
    const target = `S\u0000\n\u202e${'x'.repeat(2_000)}`;
    const asked: unknown[] = [];
    const pages = openPages(
      releasing(async ({ target: on }) => {
        asked.push(on);
        return { released: [released] };
      }),
    );
    await addActed(pages.store, 'run1', [{ id: '1', outcome: 'succeeded', status: 'standing', over: { target } }]);
    const { html } = await pages.get('/in-force');
    expect(html).toMatch(/data-confirm="Undo ban_device on [^\0\n\u202e]{1,400} now\?/);
    const sent = /name="intent" value="([^"]*)"/.exec(html)?.[1] as string;
    expect((await pages.post('/in-force/release', { intent: sent, reason: 'x' })).status).toBe(200);
    expect(asked).toEqual([target]);
    const { status, html: action } = await pages.get('/intents/intent-1');
    expect([status, action.includes('/audit?target=')]).toEqual([200, false]);
  });

  it('leads to the plan that releases all of a rule', async () => {
    const { post } = await opened(
      releasing(async ({ rule = '' }) => ({
        ...{ plan: planView(plan(decision({ rule }), { id: 'plan9' })), matching: 1, kept: [] },
      })),
    );
    const { status, headers } = await post('/in-force/release-rule', { rule: RULE_ID, reason: '' });
    expect([status, headers.get('location')]).toEqual([303, '/plans/plan9']);
  });

  it('answers a release of nothing, and one without a reason, with a page that says so', async () => {
    const { post } = await opened();
    expect((await post('/in-force/release', { intent: 'intent-9', reason: 'x' })).status).toBe(404);
    expect((await post('/in-force/release', { intent: 'intent-1' })).text).toContain('reason');
  });

  it('has no button for a reader, and refuses what one sends', async () => {
    const { get, post } = await opened();
    expect((await get('/in-force', 'read')).html).not.toContain('action="/in-force/');
    expect((await post('/in-force/release', { intent: 'intent-1', reason: 'x' }, 'trigger')).status).toBe(403);
    expect((await post('/in-force/release-rule', { rule: RULE_ID }, 'read')).status).toBe(403);
  });
});

describe('Exemptions on the page', () => {
  const ASKED = { subject: 'S-d1', owner: 'Ana', reason: 'on a ship', until: '7d' };

  async function opened(over: Over = {}) {
    const pages = openPages(over);
    const changed = [deviceSeen('d1', { name: HOSTILE, owners: ['ana@example.com'] }), deviceSeen('d2')];
    await addRun(pages.store, { identities: [{ kind: 'device', changed, had: undefined, readAt: 1 }] });
    return pages;
  }

  describe('exemptions', () => {
    it('are added by any name, in the name of who is signed in, and show what they cover', async () => {
      const { get, post, store } = await opened();
      const { status, headers } = await post('/exemptions', ASKED, 'approve');
      expect(status).toBe(303);
      expect(headers.get('location')).toMatch(/^\/exemptions#exemption-/);
      expect(await store.exemptions()).toMatchObject([
        { createdBy: 'approveer', owner: 'Ana', selector: { value: 'S-d1' } },
      ]);
      const { text, html } = await get('/exemptions');
      for (const words of [
        'In force: 1',
        'SerialNumber = S-d1',
        'covers 1 device',
        'on a ship',
        'Ana is responsible for it',
        'in 7 days',
        'never',
      ])
        expect(text).toContain(words);
      expect(html).not.toContain('<script>alert');
      expect(html).not.toContain('\u202e');
    });

    it('are added of all with a value, until a date', async () => {
      const { get, post, store } = await opened();
      const asked = {
        field: 'Platform',
        value: 'macOS',
        forgeable: 'yes',
        owner: '<b>x</b>',
        reason: HOSTILE.slice(0, 100),
        until: '1d',
        date: '2027-01-31',
      };
      expect((await post('/exemptions', asked)).status).toBe(303);
      expect((await store.exemptions())[0]?.expiresAt).toBe(Date.UTC(2027, 0, 31));
      const { text, html } = await get('/exemptions');
      expect(text).toContain('covers 2 devices');
      expect(html).not.toContain('<b>x');
    });

    it('warn when they cover nothing', async () => {
      const { get, post } = await opened();
      await post('/exemptions', { ...ASKED, subject: 'nobody', kind: 'device', unseen: 'yes' });
      expect((await get('/exemptions')).text).toContain('nothing covers nothing that is known now');
    });

    it.each([
      [{ ...ASKED, reason: '' }, 400, 'reason'],
      [{ ...ASKED, subject: '' }, 400, 'one subject'],
      [{ ...ASKED, field: 'Platform' }, 400, 'value'],
      [{ ...ASKED, subject: '', field: 'Platform', value: 'macOS' }, 400, 'Devices report Platform themselves'],
      [{ ...ASKED, until: 'soon' }, 400, 'expected a duration'],
      [{ ...ASKED, subject: 'nobody' }, 404, 'Nothing is known as'],
    ])('are refused with what was wrong: %j', async (asked, expected, words) => {
      const { post, store } = await opened();
      const { status, text } = await post('/exemptions', asked);
      expect(status).toBe(expected);
      expect(text).toContain(words);
      expect(await store.exemptions()).toEqual([]);
    });

    it('are ended with a reason, and are then on the list of those that are over', async () => {
      const { get, post, store } = await opened();
      await post('/exemptions', ASKED);
      const [{ id }] = (await store.exemptions()) as [Exemption];
      expect((await post(`/exemptions/${id}/end`, {})).status).toBe(400);
      expect((await post(`/exemptions/${id}/end`, { reason: 'back' }, 'approve')).headers.get('location')).toBe(
        '/exemptions?list=over',
      );
      expect((await get('/exemptions')).text).toContain('None is in force.');
      const { text } = await get('/exemptions?list=over');
      expect(text).toContain('approveer');
      expect(text).toContain('back');
      expect((await post(`/exemptions/${id}/end`, { reason: 'again' })).status).toBe(409);
    });

    it('are over on the page when their time is, and paged', async () => {
      const { get, post, clock, store } = await opened();
      await post('/exemptions', ASKED);
      const [one] = (await store.exemptions()) as [Exemption];
      for (let at = 0; at < 54; at += 1) await store.saveExemption({ ...one, id: `more-${at}` }, []);
      clock.advance(8 * 86_400_000);
      const { text, html } = await get('/exemptions?list=over');
      expect(text).toContain('Over: 55');
      expect(text).toContain('its time was over');
      const next = /href="([^"]*)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '';
      expect((await get(next)).html.match(/id="exemption-/g)).toHaveLength(5);
    });

    it('say what was released with them', async () => {
      const addExemption = async () =>
        ({
          ...{ owner: 'Ana', reason: 'ship', covers: null },
          released: [
            { target: 'S-d1', action: 'ban_device', state: 'standing', text: 'the API refused it', intent: null },
          ],
        }) as unknown as Output<'addExemption'>;
      const { post } = await opened({ operations: { addExemption } });
      expect((await post('/exemptions', { ...ASKED, release: 'yes' })).text).toContain('the API refused it');
    });

    it('have no form for a reader, and refuse what one sends', async () => {
      const { get, post, store } = await opened();
      await post('/exemptions', ASKED);
      expect((await get('/exemptions', 'read')).html).not.toContain('action="/exemptions');
      expect((await post('/exemptions', ASKED, 'trigger')).status).toBe(403);
      expect((await post(`/exemptions/${(await store.exemptions())[0]?.id}/end`, { reason: 'x' }, 'read')).status).toBe(
        403,
      );
    });
  });
});

describe('What needs a person', () => {
  async function opened(): Promise<OpenedPages> {
    const pages = openPages();
    await addActed(pages.store, 'run1', [
      { id: '1', outcome: 'unknown', note: HOSTILE },
      { id: '2', outcome: 'parked', note: 'failed three times' },
      { id: '3', outcome: 'failed', note: 'HTTP 500' },
      { id: '4', outcome: 'succeeded', status: 'standing' },
    ]);
    return pages;
  }

  describe('actions that need a person', () => {
    it('are shown by state, with the last answer and what happens by itself next', async () => {
      const { get } = await opened();
      const { status, text, html } = await get('/inbox');
      expect(status).toBe(200);
      for (const words of ['In doubt: 1', 'Parked: 1', 'Failed and still to be done: 1']) expect(text).toContain(words);
      for (const words of ['The next run reads it back.', 'nothing happens by itself', 'A later run tries again'])
        expect(text).toContain(words);
      expect(text).toContain('failed three times');
      expect(text).not.toContain('SERIAL-4');
      expect(text).toContain('Inbox 3 waiting');
      expect(html).not.toContain('<script>alert');
      expect(html).not.toContain('\u202e');
    });

    it('are shown of one state alone, in pages', async () => {
      const { get } = await opened();
      const { text } = await get('/inbox?state=parked');
      expect(text).toContain('SERIAL-2');
      expect(text).not.toContain('SERIAL-1');
      expect((await get('/inbox?state=parked&before=parked.intent-2')).text).toContain('None.');
      expect((await get('/inbox?state=settled')).status).toBe(400);
      expect((await get('/inbox?before=intent-2')).status).toBe(400);
    });

    it.each([
      ['intent-1', 'done', 'confirmed'],
      ['intent-2', 'not-done', 'failed'],
      ['intent-3', 'retry', 'unknown'],
    ])('are resolved by a person who says why: %s as %s', async (id, as, outcome) => {
      const { get, post, store } = await opened();
      const { status, headers } = await post(`/intents/${id}/resolve`, { as, reason: 'I <i>looked</i>' }, 'approve');
      expect([status, headers.get('location')]).toEqual([303, `/intents/${id}`]);
      expect((await store.intents({ ids: [id] }))[0]).toMatchObject({
        outcome,
        note: `approveer says ${as}: I <i>looked</i>`,
      });
      const { text, html } = await get(`/intents/${id}`);
      expect(text).toContain(`approveer says ${as}: I <i>looked</i>`);
      expect(text).toContain('intent.resolved');
      expect(html).not.toContain('<i>looked');
    });

    it('are not resolved without a reason, without an answer, or twice', async () => {
      const { post } = await opened();
      expect((await post('/intents/intent-1/resolve', { as: 'done' })).status).toBe(400);
      expect((await post('/intents/intent-1/resolve', { reason: 'x' })).status).toBe(400);
      expect((await post('/intents/intent-4/resolve', { as: 'done', reason: 'x' })).status).toBe(409);
      expect((await post('/intents/nobody/resolve', { as: 'done', reason: 'x' })).status).toBe(404);
    });

    it('have no form for a reader', async () => {
      const { get, post } = await opened();
      expect((await get('/inbox', 'read')).html).not.toContain('/resolve"');
      expect((await get('/intents/intent-1', 'read')).html).not.toContain('/resolve"');
      expect((await post('/intents/intent-1/resolve', { as: 'done', reason: 'x' }, 'read')).status).toBe(403);
    });
  });

  describe('the page of one action', () => {
    it('shows its rules, run, attempts, facts and entries of the audit', async () => {
      const { get } = await opened();
      const { text, html } = await get('/intents/intent-2');
      for (const words of [
        'ban_device',
        'SERIAL-2',
        'run 1',
        '1 attempt',
        'MdmData.CompromisedStatus = "TRUE"',
        'intent.sent',
      ])
        expect(text).toContain(words);
      expect(text).not.toContain('SERIAL-3');
      expect(html).toContain('href="/rules/ban-compromised-device"');
      expect((await get('/intents/nobody')).status).toBe(404);
    });

    it('offers nothing for one that is done', async () => {
      const { get } = await opened();
      expect((await get('/intents/intent-4')).html).not.toContain('/resolve"');
    });
  });
});
