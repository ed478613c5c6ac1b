// Exemptions on the page: what is in force and over, adding one, ending one, and what is refused.
import { describe, expect, it } from 'vitest';
import type { Output } from '../../../src/contract/table.ts';
import type { Exemption } from '../../../src/domain/exemption.ts';
import type { Over } from '../../support/endpoint.ts';
import { addRun, deviceSeen } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';
import { HOSTILE } from './acted.ts';

const ASKED = { subject: 'S-d1', owner: 'Ana', reason: 'on a ship', until: '7d' };

async function opened(over: Over = {}) {
  const pages = openPages(over);
  const changed = [deviceSeen('d1', { name: HOSTILE, owners: ['ana@example.com'] }), deviceSeen('d2')];
  await addRun(pages.store, { identities: [{ kind: 'device', changed, had: undefined }] });
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
    [{ ...ASKED, subject: '', field: 'Platform', value: 'macOS' }, 400, 'devices report Platform themselves'],
    [{ ...ASKED, until: 'soon' }, 400, 'expected a duration'],
    [{ ...ASKED, subject: 'nobody' }, 404, 'nothing is known as'],
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
