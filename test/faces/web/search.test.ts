// What the box finds: one thing leads to its page, several are shown to choose from, and nothing says what to do.
import { describe, expect, it } from 'vitest';
import { addRun, decision, deviceSeen, plan } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';

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
      { kind: 'device', changed: devices, had: undefined },
      { kind: 'service', changed: [service], had: undefined },
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
