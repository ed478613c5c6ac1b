// http: attacks on signing in at an identity provider: each opens nothing, ends nothing, and is answered with a sentence. Beside them, what must be
// let in although it is unusual.
import type { ServerResponse } from 'node:http';
import { decodeJwt, generateKeyPair, UnsecuredJWT } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLIENT, type Visitor } from '../../support/identity-provider.ts';
import { textOf } from '../../support/pages.ts';
import { ORIGIN, openSigningIn } from '../../support/signing-in.ts';

type On = Awaited<ReturnType<typeof openSigningIn>>;
let on: On;
const figures = { attacks: 0, refused: 0, good: 0 };
beforeAll(async () => {
  on = await openSigningIn();
});
afterAll(async () => {
  await on.provider.close();
  const { attacks, refused, good } = figures;
  process.stdout.write(`attacks on signing in: ${attacks}, refused: ${refused}; unusual and let in: ${good}\n`);
});
let undo = () => {};
beforeEach(() => {
  undo();
  on.provider.lies.clear();
  on.provider.failures.clear();
  on.clock.advance(6_000); // past the silence after a failure
  const account = { email: 'ana@example.com', email_verified: true, groups: ['security', 'staff'] };
  on.provider.accounts.set('u-ana', account);
});

const seconds = () => Math.floor(on.clock.nowMs() / 1_000);
/** What it shows without a session leads to the sign-in page. */
const isSignedIn = async (person: Visitor) => (await person.open('/runs')).status === 200;

/** Every answer of the token endpoint has another ID token. */
function forged(change: (claims: Record<string, unknown>) => Promise<string | undefined>): void {
  on.provider.lies.set('/token', async (body) => {
    if (typeof body.id_token !== 'string') return body;
    const { id_token: _, ...rest } = body;
    const token = await change({ ...decodeJwt(body.id_token) });
    return token === undefined ? rest : { ...rest, id_token: token };
  });
}
const changed = (over: object) => forged((claims) => on.provider.signed({ ...claims, ...over }));
const account = (over: object) => {
  const before = on.provider.accounts.get('u-ana');
  if (before) on.provider.accounts.set('u-ana', { ...before, ...over });
};

/** The public key, as a secret: what a checker takes that lets the token say how it is checked. */
async function publicSecret(): Promise<Uint8Array> {
  const { keys } = (await (await fetch(`${on.provider.settings.issuer}/jwks`)).json()) as { keys: object[] };
  return new TextEncoder().encode(JSON.stringify(keys[0]));
}

/** Something is changed before or after the person was at the provider: the answer, and who came back. */
type Attack = (person: Visitor) => Promise<Response>;
const lying =
  (prepare: () => void | Promise<void>): Attack =>
  async (person) => {
    await prepare();
    return person.signIn('u-ana');
  };
const back =
  (change: (url: URL, person: Visitor) => void | Promise<void>): Attack =>
  async (person) => {
    const url = new URL(await person.leadBack('u-ana'));
    await change(url, person);
    return person.open(url.href);
  };

const AT_SIGN_IN: [string, Attack][] = [
  ['a guessed state', back(({ searchParams }) => searchParams.set('state', 'f'.repeat(64)))],
  ['no state', back(({ searchParams }) => searchParams.delete('state'))],
  ['two states', back(({ searchParams }) => searchParams.append('state', 'f'.repeat(64)))],
  [
    'the state of another browser',
    (person) =>
      on
        .visitor()
        .leadBack('u-ben')
        .then((url) => person.leadBack('u-ana').then(() => person.open(url))),
  ],
  ['no cookie of the beginning', back((_, { jar }) => void jar.clear())],
  [
    'a cookie of the beginning that was changed',
    back((_, { jar }) => void jar.set('trustward-begun-8080', `${'A'.repeat(43)}.Lw`)),
  ],
  [
    "a code of another sign-in, with one's own state",
    back(async ({ searchParams }) =>
      searchParams.set('code', new URL(await on.visitor().leadBack('u-ben')).searchParams.get('code') ?? ''),
    ),
  ],
  ['a made-up code', back(({ searchParams }) => searchParams.set('code', 'made-up'))],
  ['two codes', back(({ searchParams }) => searchParams.append('code', 'made-up'))],
  [
    'a mix-up: the issuer of another provider',
    back(({ searchParams }) => searchParams.set('iss', 'https://other.example.com')),
  ],
  ['a mix-up: no issuer from a provider that names it', back(({ searchParams }) => searchParams.delete('iss'))],
  [
    'an error with markup in it',
    back(({ searchParams }) => {
      searchParams.delete('code');
      searchParams.set('error', '<script>alert(1)</script>');
      searchParams.set('error_description', '<img src=x>');
    }),
  ],
  ['a beginning that is eleven minutes old', back(() => on.clock.advance(11 * 60_000))],
  ['a token of another issuer', lying(() => changed({ iss: 'https://other.example.com' }))],
  ['a token for another client', lying(() => changed({ aud: 'other' }))],
  ['a token for several, meant for another', lying(() => changed({ aud: [CLIENT.id, 'other'], azp: 'other' }))],
  ['a token with another nonce', lying(() => changed({ nonce: 'other' }))],
  ['a token without a nonce', lying(() => changed({ nonce: undefined }))],
  ['a token without a signature', lying(() => forged(async (claims) => new UnsecuredJWT(claims).encode()))],
  [
    'a token signed with the public key as a secret',
    lying(async () => {
      const key = await publicSecret();
      forged((claims) => on.provider.signed(claims, { header: { alg: 'HS256' }, key }));
    }),
  ],
  [
    "a token signed with the client's secret",
    lying(() =>
      forged((claims) =>
        on.provider.signed(claims, { header: { alg: 'HS256' }, key: new TextEncoder().encode(CLIENT.secret) }),
      ),
    ),
  ],
  [
    'a token signed with a foreign key',
    lying(async () => {
      const { privateKey } = await generateKeyPair('RS256');
      forged((claims) => on.provider.signed(claims, { key: privateKey }));
    }),
  ],
  [
    'a token signed with a foreign key of an unknown name',
    lying(async () => {
      const { privateKey } = await generateKeyPair('RS256');
      forged((claims) => on.provider.signed(claims, { header: { kid: 'other' }, key: privateKey }));
    }),
  ],
  [
    'a token whose claims were changed after signing',
    lying(() =>
      forged(async (claims) => {
        const [head, , tail] = (await on.provider.signed(claims)).split('.');
        return [head, Buffer.from(JSON.stringify({ ...claims, sub: 'u-ben' })).toString('base64url'), tail].join('.');
      }),
    ),
  ],
  ['a token that ended two minutes ago', lying(() => changed({ exp: Math.floor(Date.now() / 1_000) - 120 }))],
  ['a token that begins in two minutes', lying(() => changed({ nbf: Math.floor(Date.now() / 1_000) + 120 }))],
  ['no ID token', lying(() => forged(async () => undefined))],
  [
    'the page about another person',
    lying(() => void on.provider.lies.set('/me', (body) => ({ ...body, sub: 'u-ben' }))),
  ],
  ['an address that is not verified', lying(() => account({ email_verified: false }))],
  ['an address of which nobody says whether it is verified', lying(() => account({ email_verified: undefined }))],
  ['an address verified in another form', lying(() => account({ email_verified: 'true' }))],
  ['an address that looks like an actor', lying(() => account({ email: 'ana (token admin)' }))],
  ['an address of two people', lying(() => account({ email: 'ana@example.com,ben@example.com' }))],
  ['an address with a hidden character', lying(() => account({ email: 'ana\u202e@example.com' }))],
  ['no groups', lying(() => account({ groups: undefined }))],
  ['groups that may do nothing', lying(() => account({ groups: ['chess', 'Security', 'security '] }))],
  ['groups in a form that is no list', lying(() => account({ groups: { security: true } }))],
];

describe('a browser comes back with, or the provider answers', () => {
  it.each(AT_SIGN_IN)('%s: it opens nothing', async (_, attack) => {
    figures.attacks += 1;
    const person = on.visitor();
    const answer = await attack(person);
    const shown = await answer.text();
    expect([[401, 403].includes(answer.status), answer.status]).toEqual([true, answer.status]);
    expect(shown).not.toMatch(/<script>alert|<img src=x/);
    expect(textOf(shown)).toMatch(/begin again|ask whoever|verify it|sign in with|token/i);
    expect(await isSignedIn(person)).toBe(false);
    figures.refused += 1;
  });

  it('the same address a second time: it opens no second session, and takes none away', async () => {
    figures.attacks += 2;
    const ana = on.visitor();
    const url = await ana.leadBack('u-ana');
    const jar = new Map(ana.jar);
    expect((await ana.open(url)).status).toBe(303);
    const thief = on.visitor();
    for (const [name, value] of jar) thief.jar.set(name, value);
    for (const person of [ana, thief]) expect((await person.open(url)).status).toBe(401);
    expect([await isSignedIn(ana), await isSignedIn(thief)]).toEqual([true, false]);
    figures.refused += 2;
  });

  it('a foreign state uses up no beginning of the person', async () => {
    const ana = on.visitor();
    const url = await ana.leadBack('u-ana');
    expect((await ana.open('/sign-in/back?code=x&state=y')).status).toBe(401);
    expect((await ana.open(url)).status).toBe(303);
  });

  it.each(['//evil.example', 'https://evil.example/', '/\\evil.example', '/\t/evil.example', 'javascript:alert(1)'])(
    'the return path %j: it leads to the first page',
    async (to) => {
      figures.attacks += 1;
      const answer = await on.visitor().signIn('u-ana', to);
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
      figures.refused += 1;
    },
  );

  it('a session that somebody planted before: it is another one afterwards', async () => {
    figures.attacks += 1;
    const [ana, planted] = [on.visitor(), 'p'.repeat(43)];
    ana.jar.set('trustward-8080', planted);
    await ana.signIn('u-ana');
    expect(ana.jar.get('trustward-8080')).not.toBe(planted);
    const thief = on.visitor();
    thief.jar.set('trustward-8080', planted);
    expect([await isSignedIn(ana), await isSignedIn(thief)]).toEqual([true, false]);
    figures.refused += 1;
  });

  it.each<[string, () => void | Promise<void>]>([
    [
      'a token that ended half a minute ago, by clocks that differ',
      () => changed({ exp: Math.floor(Date.now() / 1_000) - 30 }),
    ],
    [
      'a token of keys that are new since the last sign-in',
      async () => {
        undo = await on.provider.rotate();
        changed({});
      },
    ],
    [
      'ten thousand groups',
      () => account({ groups: [...Array.from({ length: 10_000 }, (_, index) => `g${index}`), 'security'] }),
    ],
    ['one group as a text', () => account({ groups: 'security' })],
  ])('%s: the person is let in', async (_, prepare) => {
    await prepare();
    const ana = await on.signedIn('u-ana');
    const page = textOf(await (await ana.open('/')).text());
    // What ended by the clock here is renewed at the first request.
    expect(page).toContain('ana@example.com (approve)');
    figures.good += 1;
  });
});

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const AT_LOGOUT: [string, (good: Record<string, unknown>) => Promise<string>][] = [
  [
    'signed with a foreign key',
    async (good) => on.provider.signed(good, { key: (await generateKeyPair('RS256')).privateKey }),
  ],
  ['without a signature', async (good) => new UnsecuredJWT(good).encode()],
  [
    'signed with the public key as a secret',
    async (good) => on.provider.signed(good, { header: { alg: 'HS256' }, key: await publicSecret() }),
  ],
  ['for another client', (good) => on.provider.signed({ ...good, aud: 'other' })],
  ['of another issuer', (good) => on.provider.signed({ ...good, iss: 'https://other.example.com' })],
  ['with a nonce, as an ID token has', (good) => on.provider.signed({ ...good, nonce: 'n' })],
  ['without the event', (good) => on.provider.signed({ ...good, events: {} })],
  ['without an id', (good) => on.provider.signed({ ...good, jti: undefined })],
  ['of nobody', (good) => on.provider.signed({ ...good, sub: undefined })],
  ['ten minutes old', (good) => on.provider.signed({ ...good, iat: seconds() - 600 })],
  ['of the future', (good) => on.provider.signed({ ...good, iat: seconds() + 600 })],
  ['that is no token', async () => 'x.y.z'],
];

describe('a token that ends sessions', () => {
  const good = (over: object = {}) => ({
    ...{ iss: on.provider.settings.issuer, aud: CLIENT.id, iat: seconds(), jti: crypto.randomUUID() },
    ...{ events: EVENTS, sub: 'u-ana', ...over },
  });
  const sent = async (token: string) => (await on.visitor().post('/sign-in/ended', { logout_token: token })).status;

  it.each(AT_LOGOUT)('%s: it ends nothing', async (_, make) => {
    figures.attacks += 1;
    const ana = await on.signedIn('u-ana');
    expect(await sent(await make(good()))).toBe(400);
    expect(await isSignedIn(ana)).toBe(true);
    expect(await sent(await on.provider.signed(good()))).toBe(200);
    expect(await isSignedIn(ana)).toBe(false);
    figures.refused += 1;
  });

  it('sent again: it ends no session that began since; and what it names alone ends', async () => {
    figures.attacks += 1;
    const [ana, ben] = [await on.signedIn('u-ana'), await on.signedIn('u-ben')];
    const token = await on.provider.signed(good());
    expect(await sent(token)).toBe(200);
    expect([await isSignedIn(ana), await isSignedIn(ben)]).toEqual([false, true]);
    const again = await on.signedIn('u-ana');
    expect(await sent(token)).toBe(400);
    // Another session of hers at the provider is not this one.
    expect(await sent(await on.provider.signed(good({ sid: 'other' })))).toBe(200);
    expect(await isSignedIn(again)).toBe(true);
    figures.refused += 1;
  });
});

describe('a person who is signed in', () => {
  it.each<[string, number, () => void]>([
    ['another person', 401, () => changed({ sub: 'u-ben' })],
    ['a token for another client', 401, () => changed({ aud: 'other' })],
    ['no groups any more', 401, () => account({ groups: undefined })],
  ])('of whom the provider says %s writes nothing', async (_, status, lie) => {
    figures.attacks += 1;
    const ana = await on.signedIn('u-ana');
    lie();
    on.clock.advance(61_000);
    expect((await ana.post('/stop', { reason: 'x' })).status).toBe(status);
    expect(await on.audited('stop.set')).toEqual([]);
    figures.refused += 1;
  });

  it('is made to write nothing by a page of another site', async () => {
    figures.attacks += 1;
    const ana = await on.signedIn('u-ana');
    const headers = { origin: 'https://evil.example', 'content-type': 'application/x-www-form-urlencoded' };
    expect((await ana.open('/stop', { method: 'POST', headers, body: 'reason=x' })).status).toBe(403);
    expect(await on.audited('stop.set')).toEqual([]);
    figures.refused += 1;
  });
});

describe('a provider that answers', () => {
  const json = { 'content-type': 'application/json' };
  it.each<[string, (response: ServerResponse) => void]>([
    ['with status 500', (response) => void response.writeHead(500).end('no')],
    ['with what is no JSON', (response) => void response.writeHead(200, json).end('<html>')],
    ['with JSON of another form', (response) => void response.writeHead(200, json).end('null')],
    ['by leading elsewhere', (response) => void response.writeHead(302, { location: `${ORIGIN}/evil` }).end()],
    [
      'without an end',
      (response) => {
        response.writeHead(200, json);
        const more = () => void (response.destroyed || response.write(' '.repeat(65_536), more));
        more();
      },
    ],
    ['not at all', () => {}],
  ])('%s signs nobody in, and keeps nobody who is from reading', { timeout: 20_000 }, async (_, fails) => {
    figures.attacks += 1;
    const ben = await on.signedIn('u-ben');
    const ana = on.visitor();
    const url = await ana.leadBack('u-ana');
    on.provider.failures.set('/token', (__, response) => fails(response));
    const answer = await ana.open(url);
    const sentence = expect.stringMatching(/everything else goes on|begin again/);
    expect([[401, 503].includes(answer.status), textOf(await answer.text())]).toEqual([true, sentence]);
    expect([await isSignedIn(ana), await isSignedIn(ben)]).toEqual([false, true]);
    figures.refused += 1;
  });
});
