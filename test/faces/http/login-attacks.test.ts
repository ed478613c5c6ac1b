// http: attacks on signing in a command by a device grant, against a real identity provider: each opens nothing and is answered with a sentence.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openSigningIn } from '../../support/signing-in.ts';

type On = Awaited<ReturnType<typeof openSigningIn>>;
let on: On;
const figures = { attacks: 0, refused: 0, flood: 0, begun: 0 };
beforeAll(async () => {
  on = await openSigningIn();
});
afterAll(async () => {
  await on.provider.close();
  const { attacks, refused, flood, begun } = figures;
  process.stdout.write(
    `attacks on signing in a command: ${attacks}, refused: ${refused}; a flood of ${flood} beginnings: ${begun} asked of the provider\n`,
  );
});
beforeEach(() => {
  on.provider.lies.clear();
  on.clock.advance(11 * 60_000); // what waited waits no more
});

interface Begun {
  code: string;
  completeUri: string;
}
const send = async (path: string, body: object, headers: Record<string, string> = {}, to = on) => {
  const host = { host: '127.0.0.1:8080', ...headers };
  const answer = await to.app.request(path, { method: 'POST', body: JSON.stringify(body), headers: host });
  // biome-ignore lint/suspicious/noExplicitAny: the shapes are those of the document
  return { status: answer.status, json: (await answer.json()) as any };
};
const begin = async () => (await send('/sign-in/device', {})).json as Begun;
const poll = (code: string) => send('/sign-in/device/poll', { code });
const signIn = async (sub = 'u-ana') => {
  const { code, completeUri } = await begin();
  await on.visitor().entersCode(sub, completeUri);
  return { code, session: (await poll(code)).json.session as string };
};
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const cookie = (value: string) => ({ cookie: `trustward-8080=${value}` });
const STOP = { reason: 'an attack' };
const form = (headers: Record<string, string>) =>
  on.app.request('/stop', {
    method: 'POST',
    headers: { host: '127.0.0.1:8080', 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: 'reason=an+attack',
  });

/** Answers with the status, and nobody may be signed in or have stopped anything. */
const ATTACKS: [string, number, () => Promise<{ status: number }>][] = [
  ['a made-up code', 401, () => poll(`${'A'.repeat(43)}.${'B'.repeat(43)}`)],
  ['a code of another form', 401, () => poll('x')],
  [
    "another's code of the provider, with an own secret",
    401,
    async () => {
      const [mine, theirs] = [await begin(), await begin()];
      await on.visitor().entersCode('u-ana', theirs.completeUri);
      return poll(`${mine.code.split('.')[0]}.${theirs.code.split('.')[1]}`);
    },
  ],
  [
    "another's code that the provider shows, and no secret",
    401,
    async () => {
      const { code, completeUri } = await begin();
      await on.visitor().entersCode('u-ana', completeUri);
      return poll(code.split('.')[1] as string);
    },
  ],
  [
    'the code that a person reads',
    401,
    async () => poll(new URL((await begin()).completeUri).searchParams.get('user_code') as string),
  ],
  ['a replay of a used code', 401, async () => poll((await signIn()).code)],
  [
    'two that poll at the same moment',
    429,
    async () => {
      const { code, completeUri } = await begin();
      await on.visitor().entersCode('u-ana', completeUri);
      const both = await Promise.all([poll(code), poll(code)]);
      expect(both.map(({ status }) => status).sort()).toEqual([200, 429]);
      return { status: 429 };
    },
  ],
  [
    'polling faster than it may',
    429,
    async () => {
      const { code } = await begin();
      await poll(code);
      const asked = on.provider.asked('/token');
      const answers = await Promise.all(Array.from({ length: 20 }, () => poll(code)));
      expect([answers.filter(({ status }) => status === 429).length, on.provider.asked('/token') - asked]).toEqual([
        20, 0,
      ]);
      return answers[0] as { status: number };
    },
  ],
  [
    'polling on after slow_down',
    429,
    async () => {
      const { code } = await begin();
      on.provider.lies.set('/token', () => ({ error: 'slow_down' }));
      expect((await poll(code)).json).toEqual({ intervalSeconds: 10 });
      on.provider.lies.clear();
      on.clock.advance(5_000);
      await poll(code);
      return poll(code);
    },
  ],
  [
    'a code that nobody entered in time',
    401,
    async () => {
      const { code } = await begin();
      on.clock.advance(10 * 60_000);
      return poll(code);
    },
  ],
  [
    'a no at the provider',
    403,
    async () => {
      const { code, completeUri } = await begin();
      await on.visitor().entersCode('u-ana', completeUri, 'abort');
      return poll(code);
    },
  ],
  [
    'asking on after a no',
    401,
    async () => {
      const { code, completeUri } = await begin();
      await on.visitor().entersCode('u-ana', completeUri, 'abort');
      await poll(code);
      return poll(code);
    },
  ],
  [
    'a person in no group',
    403,
    async () => {
      on.provider.accounts.set('u-eve', { email: 'eve@example.com', email_verified: true, groups: ['chess'] });
      const { code, completeUri } = await begin();
      await on.visitor().entersCode('u-eve', completeUri);
      return poll(code);
    },
  ],
  [
    'a forged ID token',
    401,
    async () => {
      const { code, completeUri } = await begin();
      await on.visitor().entersCode('u-ana', completeUri);
      on.provider.lies.set('/token', (body) => ({ ...body, id_token: `${String(body.id_token).slice(0, -4)}AAAA` }));
      return poll(code);
    },
  ],
  [
    'no ID token',
    401,
    async () => {
      const { code, completeUri } = await begin();
      await on.visitor().entersCode('u-ana', completeUri);
      on.provider.lies.set('/token', ({ id_token: _, ...body }) => body);
      return poll(code);
    },
  ],
  [
    'a page to open that is a script',
    401,
    () => {
      on.provider.lies.set('/device/auth', (body) => ({ ...body, verification_uri: 'javascript:alert(1)' }));
      return send('/sign-in/device', {});
    },
  ],
  [
    'the session of a command as a cookie',
    401,
    async () => form({ origin: 'http://127.0.0.1:8080', ...cookie((await signIn()).session) }),
  ],
  [
    'the same without its first letters',
    401,
    async () => form({ origin: 'http://127.0.0.1:8080', ...cookie((await signIn()).session.slice(6)) }),
  ],
  [
    'the session of a command as a bearer token of a form',
    401,
    async () => form({ origin: 'http://127.0.0.1:8080', ...bearer((await signIn()).session) }),
  ],
  [
    'the same from another site',
    403,
    async () => form({ origin: 'https://evil.example.com', ...bearer((await signIn()).session) }),
  ],
  ...['', 'login-'].map((first): (typeof ATTACKS)[number] => [
    `a cookie as a bearer token${first && ', with the first letters of one'}`,
    401,
    async () => {
      const value = (await on.signedIn('u-ana')).jar.get('trustward-8080') as string;
      return send('/api/stop', STOP, bearer(`${first}${value}`));
    },
  ]),
  [
    'a session that was ended',
    401,
    async () => {
      const { session } = await signIn();
      expect((await send('/sign-in/device/end', { session })).json).toEqual({ ended: true });
      return send('/api/stop', STOP, bearer(session));
    },
  ],
  [
    'ending the session of a browser in this way',
    200,
    async () => {
      const ana = await on.signedIn('u-ana');
      const session = ana.jar.get('trustward-8080') as string;
      for (const one of [session, `login-${session}`])
        expect((await send('/sign-in/device/end', { session: one })).json).toEqual({ ended: false });
      return ana.open('/runs');
    },
  ],
  [
    'a name in a header, of who is a person',
    200,
    async () => {
      const { session } = await signIn('u-ana');
      const named = await send('/api/stop', STOP, { ...bearer(session), 'trustward-user': 'root' });
      expect(named.json.stopped.by).toMatch(/^ana@example\.com \(u-ana at /);
      await send('/api/resume', STOP, bearer(session));
      return named;
    },
  ],
];

it.each(ATTACKS)('%s is refused', async (_, status, attack) => {
  figures.attacks += 1;
  const stops = (await on.audited('stop.set')).length;
  const { status: answered } = await attack();
  expect(answered).toBe(status);
  expect((await on.audited('stop.set')).length - stops).toBe(_.startsWith('a name') ? 1 : 0);
  figures.refused += 1;
});

it('a flood of beginnings reaches the provider a bounded number of times, and later ones are let in again', async () => {
  const asked = on.provider.asked('/device/auth');
  const answers = await Promise.all(Array.from({ length: 300 }, () => send('/sign-in/device', {})));
  const statuses = answers.map(({ status }) => status);
  figures.flood = answers.length;
  figures.begun = on.provider.asked('/device/auth') - asked;
  expect([statuses.filter((one) => one === 201).length, statuses.filter((one) => one === 429).length]).toEqual([
    50, 250,
  ]);
  expect(figures.begun).toBe(50);
  on.clock.advance(11 * 60_000);
  expect((await send('/sign-in/device', {})).status).toBe(201);
});

it('many networks together have a bound, too, which pushes out nobody who waits', async () => {
  const beginFrom = async (network: number) => {
    const from = { incoming: { socket: { remoteAddress: `192.0.2.${network}` } } };
    const init = { method: 'POST', body: '{}', headers: { host: '127.0.0.1:8080' } };
    return on.app.request('/sign-in/device', init, from);
  };
  const first = await beginFrom(0);
  const answers: Response[] = [];
  // All at once they would wait for the provider longer than its answers may take.
  for (let round = 0; round < 40; round += 1)
    answers.push(...(await Promise.all(Array.from({ length: 13 }, (_, network) => beginFrom(network)))));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(21);
  expect((await refused[0]?.text()) ?? '').toContain('too many sign-ins of commands wait');
  const { code, completeUri } = (await first.json()) as Begun;
  await on.visitor().entersCode('u-ana', completeUri);
  expect((await poll(code)).status).toBe(200);
});

it('a provider that lets no command sign in, and an endpoint without one, say what to do instead', async () => {
  const none = await openSigningIn({ hasDevices: false });
  const refused = await send('/sign-in/device', {}, {}, none);
  expect([refused.status, refused.json.detail]).toEqual([
    404,
    expect.stringMatching(/lets no command sign in.*TRUSTWARD_TOKEN/),
  ]);
  await none.provider.close();
});
