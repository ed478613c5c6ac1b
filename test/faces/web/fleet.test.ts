// The pages of devices, users and services: what they show, that names are escaped, and that a wrong filter is named. `trustward devices` has the same.
import { describe, expect, it } from 'vitest';
import { identityOf } from '../../../src/domain/identity.ts';
import type { SubjectKind } from '../../../src/domain/subjects.ts';
import { type OpenedPages, openPages } from '../../support/pages.ts';
import { HOSTILE } from './acted.ts';

const device = (id: string, name: string, over = {}) =>
  identityOf('device', {
    ...{ DeviceID: id, SerialNumber: `SN-${id}`, DeviceFriendlyName: name, Platform: 'iOS', Model: 'iPhone 15' },
    ...{ Emails: [`${id}@example.com`], Banned: 'FALSE', TrustData: { Level: 'High' } },
    ...over,
  });

async function opened(): Promise<OpenedPages> {
  const pages = openPages();
  const lists: [SubjectKind, ReturnType<typeof identityOf>[]][] = [
    [
      'device',
      [
        device('a', HOSTILE),
        device('b', "Bo's iPhone", { Banned: 'TRUE' }),
        device('c', 'Cy mac', { Platform: 'macOS' }),
      ],
    ],
    ['service', [identityOf('service', { ServiceID: 'crm.eu', ServiceName: 'crm', Enabled: 'FALSE' })]],
  ];
  for (const [kind, changed] of lists)
    await pages.store.saveIdentities([{ kind, changed, had: undefined, readAt: Date.UTC(2026, 10, 21, 8, 0, 0) }]);
  return pages;
}

const shownIn = (html: string) => [...html.matchAll(/href="\/subjects\/device\/(\w)"/g)].map(([, id]) => id);

describe('the list of devices', () => {
  it('shows what the last trusted reading showed, with its time, and each row leads to its subject', async () => {
    const { get } = await opened();
    const { status, text, html } = await get('/devices');
    expect(status).toBe(200);
    expect(text).toContain('3 devices , as the last trusted reading showed them at 2026-11-21 08:00:00 UTC');
    expect(new Set(shownIn(html))).toEqual(new Set(['a', 'b', 'c']));
    expect(text).toContain('banned (1)');
    expect(text).toContain('SN-b · b@example.com');
    expect(html).not.toContain('<script>alert');
    expect(html).not.toContain('\u202e');
  });
  it.each([
    ['/devices?banned=true', ['b']],
    ['/devices?platform=ios&level=High&banned=false', ['a']],
    ['/devices?compromised=unknown&sort=platform&order=desc', ['c', 'b', 'a']],
    ['/devices?q=iph&owner=', ['b']],
    ['/devices?owner=C%40example.com', ['c']],
    ['/devices?q=SN-c', ['c']],
    ['/devices?q=phone', []],
  ])('is narrowed and sorted: %s', async (path, ids) => {
    expect(shownIn((await (await opened()).get(path)).html)).toEqual(ids);
  });
  it('refuses a filter that there is not in words, and leads to the next page', async () => {
    const { get } = await opened();
    for (const [path, said] of [
      ['/devices?level=high', 'did you mean `High`'],
      ['/devices?after=x', 'is not the `next` of a page of this list'],
      ['/users?banned=true', '`banned` is a filter of devices'],
    ] as const) {
      const { status, text } = await get(path);
      expect([status, text.replaceAll('`', '')]).toEqual([400, expect.stringContaining(said.replaceAll('`', ''))]);
    }
    expect((await get('/devices?rule=no-such-rule')).status).toBe(404);
  });
});

describe('the lists of services and users', () => {
  it('show what is off, and that nothing was read', async () => {
    const { get } = await opened();
    expect((await get('/services?enabled=false')).text).toMatch(/crm.*off/s);
    const users = await get('/users');
    expect([users.status, users.text]).toEqual([200, expect.stringContaining('No trusted reading of users yet.')]);
  });
});
