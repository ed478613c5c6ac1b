// http: what organizations of one endpoint share: places for streams, and an opening that is out of date before it ends.
import { expect, it } from 'vitest';
import { SCOPES } from '../../../src/domain/endpoint-token.ts';
import { openOrganizations } from '../../support/organizations.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

it('one organization with many streams leaves places for each other one', async () => {
  const on = await openOrganizations(['alpha', 'beta', 'gamma']);
  const open: Response[] = [];
  const stream = async (id: string, token: string) => {
    const answer = await on.app.request(`/api/orgs/${id}/stream`, { headers: bearer(token) });
    if (answer.status === 200) open.push(answer);
    return answer;
  };
  const most = async (id: string) => {
    const before = open.length;
    const tokens = [...SCOPES.map((scope) => on.of(id).tokens[scope]), ...SCOPES.map((scope) => on.provider[scope])];
    for (const token of tokens) for (let count = 0; count < 50; count += 1) await stream(id, token);
    return open.length - before;
  };
  expect([await most('alpha'), await most('beta')]).toEqual([250, 125]);
  const refused = await stream('alpha', on.provider.admin);
  expect([refused.status, await refused.text()]).toEqual([
    429,
    expect.stringContaining('250 streams of this organization are open, and 125 more places are left here'),
  ]);
  expect((await stream('gamma', on.of('gamma').tokens.read)).status).toBe(200);
  await open[0]?.body?.cancel();
  for (const each of open.slice(1)) await each.body?.cancel();
  const again = await stream('alpha', on.of('alpha').tokens.read);
  expect(again.status).toBe(200);
  await again.body?.cancel();
});

it('the only organization of an endpoint has all places', async () => {
  const on = await openOrganizations(['alpha']);
  const open: Response[] = [];
  const tokens = [...SCOPES.map((scope) => on.of('alpha').tokens[scope]), on.provider.admin, on.provider.read];
  for (const token of tokens)
    for (let count = 0; count < 50; count += 1)
      open.push(await on.app.request('/api/orgs/alpha/stream', { headers: bearer(token) }));
  expect(open.filter(({ status }) => status === 200)).toHaveLength(300);
  for (const each of open) await each.body?.cancel();
});

it('an organization whose settings change while it is being opened is opened anew', async () => {
  const base = await openOrganizations(['alpha', 'beta']);
  const opened: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  let settings = 'old';
  const on = await openOrganizations(['alpha', 'beta'], {
    open: async (id) => {
      const { deps, register } = base.of(id);
      opened.push(settings);
      if (opened.length === 1) await promise;
      return { deps, verifyHash: (hash) => register.verifyHash(hash), append: async () => {}, close: async () => {} };
    },
  });
  const ask = () => on.app.request('/api/orgs/alpha/runs', { headers: bearer(base.of('alpha').tokens.read) });
  const first = ask();
  while (opened.length === 0) await new Promise((turn) => setImmediate(turn));
  settings = 'new';
  on.renew('alpha');
  resolve();
  expect((await first).status).toBe(200);
  expect((await ask()).status).toBe(200);
  expect(opened).toEqual(['old', 'new']);
  await on.close();
});
