// Credentials of the client: one renewal for any number of callers, one replay, and no secret in any message.
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { expiryOf } from '../../src/platform/client/redactor.ts';
import { clientOf, errorOf, type Handler, HastyClock, json, KEY, serve } from './loopback.ts';

function jwt(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part(claims)}.sig`;
}

const refresh = { kind: 'refresh_token', secret: 'canary-refresh-77aa' } as const;

/** Issues tokens and refuses all but the latest of them. */
function issuing(claims: (count: number) => object = () => ({})) {
  const state = { issued: 0, refused: 0, valid: '' };
  const handler: Handler = ({ path, headers }, response) => {
    response.sendDate = false;
    if (path.endsWith('/refresh_token')) {
      state.issued++;
      state.valid = jwt({ n: state.issued, ...claims(state.issued) });
      return json(response, { Message: state.valid });
    }
    if (headers.authorization !== `Bearer ${state.valid}`) {
      state.refused++;
      return json(response, { Message: 'expired' }, 401);
    }
    json(response, { data: [] });
  };
  return { state, handler };
}

describe('a credential that is replaced', () => {
  test('is asked for after a 401, by 20 requests at once, and each of them is sent once more', async () => {
    const { address, seen } = await serve(({ headers }, response) =>
      headers.authorization === 'Bearer the-next-key' ? json(response, { data: [] }) : json(response, {}, 401),
    );
    const askForAnother = async () => client.replaceCredentials({ kind: 'api_key', secret: 'the-next-key' });
    const client = clientOf(address, { askForAnother });
    await Promise.all(Array.from({ length: 20 }, () => client.events({})));
    expect(seen.filter(({ headers }) => headers.authorization !== 'Bearer the-next-key')).toHaveLength(20);
    expect(seen).toHaveLength(40);
    await client.close();
  });

  test('counts also where the exchange of the refresh token itself was refused', async () => {
    const { address } = await serve(({ path, headers }, response) => {
      if (!path.endsWith('/refresh_token')) return json(response, { data: [] });
      const isNext = headers.authorization === 'Bearer the-next-refresh-token';
      return isNext ? json(response, { Message: jwt({}) }) : json(response, {}, 401);
    });
    const next = { kind: 'refresh_token', secret: 'the-next-refresh-token' } as const;
    const askForAnother = async () => client.replaceCredentials(next);
    const client = clientOf(address, { credential: refresh, askForAnother });
    expect(await client.events({})).toEqual([]);
    await client.close();
  });

  test('by one that cannot be used leaves the old one in force', async () => {
    const { address, seen } = await serve((_, response) => json(response, { data: [] }));
    const client = clientOf(address);
    expect(() => client.replaceCredentials({ kind: 'api_key', secret: 'a\nb' })).toThrow('no header may hold');
    await client.events({});
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    await client.close();
  });
});

describe('a refresh token', () => {
  test('is exchanged once, and 50 requests refused at once cause exactly one more exchange', async () => {
    const { state, handler } = issuing();
    const held: (() => void)[] = [];
    const { address, seen } = await serve((one, response, request) => {
      const go = () => void handler(one, response, request);
      if (state.issued === 1 && one.path.endsWith('/events')) {
        // All fifty must have been sent with the first token before the first of them is refused.
        held.push(go);
        if (held.length === 50) {
          state.valid = 'revoked';
          for (const each of held) each();
        }
        return;
      }
      go();
    });
    const client = clientOf(address, { credential: refresh });
    await Promise.all(Array.from({ length: 50 }, () => client.events({})));
    expect(state).toMatchObject({ issued: 2, refused: 50 });
    expect(seen.filter((each) => each.path === '/api/v1/refresh_token')).toHaveLength(2);
    expect(seen.find((each) => each.path === '/api/v1/refresh_token')?.headers.authorization).toBe(
      `Bearer ${refresh.secret}`,
    );
    await client.close();
  });

  test('gives a token that is replaced before it expires', async () => {
    const clock = new HastyClock();
    const { state, handler } = issuing(() => ({ exp: clock.now / 1_000 + 600 }));
    const { address } = await serve(handler);
    const client = clientOf(address, { credential: refresh, clock });
    await client.events({});
    clock.now += 500_000;
    await client.events({});
    expect(state.issued).toBe(1);
    clock.now += 80_000;
    await client.events({});
    expect(state).toMatchObject({ issued: 2, refused: 0 });
    await client.close();
  });

  test('whose new token is refused too ends in `api_refused`, after one replay', async () => {
    const { address, seen } = await serve(({ path }, response) =>
      path.endsWith('/refresh_token') ? json(response, { Message: jwt({}) }) : json(response, {}, 401),
    );
    const client = clientOf(address, { credential: refresh });
    expect((await errorOf(client.events({}))).code).toBe('api_refused');
    expect(seen.filter((each) => each.path.endsWith('/events'))).toHaveLength(2);
    await client.close();
  });

  test('that is refused itself is named', async () => {
    const { address } = await serve((_, response) => json(response, { Message: `bad ${refresh.secret}` }, 401));
    const client = clientOf(address, { credential: refresh });
    const error = await errorOf(client.events({}));
    expect(error.code).toBe('api_refused');
    expect(error.message).toContain('refresh token was refused');
    await client.close();
  });

  test('answered without a token is an answer that cannot be used', async () => {
    const { address } = await serve((_, response) => json(response, { Message: '' }));
    const client = clientOf(address, { credential: refresh });
    expect((await errorOf(client.events({}))).code).toBe('api_answer');
    await client.close();
  });

  test('lets a write refused for its old token be sent once more', async () => {
    const { state, handler } = issuing();
    const { address, seen } = await serve(handler);
    const client = clientOf(address, { credential: refresh });
    await client.events({});
    state.valid = 'revoked';
    expect((await client.enableService('s')).kind).toBe('done');
    expect(seen.filter((each) => each.path.includes('enable'))).toHaveLength(2);
    await client.close();
  });
});

test('a write refused twice ends in `api_refused`: nothing had an effect', async () => {
  const { address, seen } = await serve((_, response) => json(response, {}, 401));
  const client = clientOf(address);
  expect((await errorOf(client.enableService('s'))).code).toBe('api_refused');
  expect(seen).toHaveLength(1);
  await client.close();
});

describe('the admin token', () => {
  const bundle = { error_code: 0, data: { id: 'b', bundle_name: 'n' } };

  test.each([
    ['token-1', 'Bearer token-1', 2],
    ['token-1', 'token-1', 1],
    ['Bearer token-1', 'token-1', 2],
    ['Bearer token-1', 'Bearer token-1', 1],
  ])('given as `%s` reaches a server that wants `%s`', async (given, wanted, sent) => {
    const { address, seen } = await serve(({ headers }, response) =>
      headers.authorization === wanted ? json(response, bundle) : json(response, {}, 401),
    );
    const client = clientOf(address, { adminToken: given });
    const created = await client.createBundle({ bundle_name: 'n' });
    expect(created).toMatchObject({ kind: 'done', value: { id: 'b' } });
    expect(seen).toHaveLength(sent);
    await client.deleteBundle('b');
    expect(seen).toHaveLength(sent + 1);
    await client.close();
  });

  test('is for bundles alone, whose prefix can be set', async () => {
    const { address, seen } = await serve((_, response) => json(response, bundle));
    const client = clientOf(address, { adminToken: 'adm', bundlePrefix: '/api/v2/' });
    await client.removeServiceFromBundle('a/b', 's');
    await client.enableService('s');
    expect(seen.map((each) => [each.path, each.headers.authorization])).toEqual([
      ['/api/v2/bundle/a%2Fb/service', 'adm'],
      ['/api/v1/enable_registered_service', `Bearer ${KEY}`],
    ]);
    expect(seen[0]?.body).toBe('{"service_id":"s"}');
    await client.close();
  });
});

describe('secrets', () => {
  test('are in no error, whatever the server echoes', async () => {
    const { address } = await serve(({ headers, path }, response) => {
      if (path.endsWith('/devices')) return void response.socket?.end(`HTTP/1.1 BAD ${headers.authorization}\r\n\r\n`);
      json(response, { Message: headers.authorization, error: headers.authorization }, 400);
    });
    const client = clientOf(address, { retries: 0, adminToken: 'canary-admin-00' });
    const errors = [
      await errorOf(client.events({})),
      await errorOf(client.page('devices', 0, 5)),
      await errorOf(client.listBundles()),
    ];
    const writes = [await client.enableService('s'), await client.deleteBundle('b')];
    const shown = inspect([errors, writes, client], { depth: 20, showHidden: true, getters: true });
    expect(shown).not.toContain('canary-key');
    expect(shown).not.toContain('canary-admin');
    await client.close();
  });

  test('with a line break at their end are trimmed, and others refused without being shown', () => {
    const make =
      (secret: string, address = 'http://127.0.0.1:1') =>
      () =>
        clientOf(address, { credential: { kind: 'api_key', secret } });
    expect(make('fine\n')).not.toThrow();
    expect(make(' \n')).toThrow('the API key is empty');
    expect(make('canary\nx')).toThrow(/^the API key holds characters that no header may hold$/);
    expect(make('k', 'http://user:canary@h')).toThrow(/^(?!.*canary)/);
    expect(make('k', 'ftp://h')).toThrow('not an http or https URL');
    expect(make('k', 'http://h/api/v1')).toThrow('give `http://h`');
    expect(make('k', 'http://h/x?a=canary')).toThrow(/^(?!.*canary)/);
  });
});

test('a foreign secret stays out of every message about an answer, in every known form', async () => {
  const said = [
    '{"client_secret": "canary"}',
    'login of db failed: Password=canary;Port=1',
    'sent was X-Api-Key: canary',
    '{\\"spec\\": {\\"db_password\\": \\"canary\\"}}',
    'https://user:canary@h.example/ is down',
  ];
  for (const Message of said) {
    const { address } = await serve((_, response) => json(response, { Message }, 400));
    const client = clientOf(address);
    const shown = [(await errorOf(client.service('s'))).message, (await client.enableService('s')).text];
    expect(shown.join()).not.toContain('canary');
    expect(shown.every((text) => text.includes('400'))).toBe(true);
    await client.close();
  }
});

test('the expiry of a token is read from its payload, and none from anything but a JWT', () => {
  expect(expiryOf(jwt({ exp: 5 }))).toBe(5_000);
  expect(expiryOf(jwt({ exp: 'x' }))).toBeUndefined();
  expect(expiryOf('opaque')).toBeUndefined();
  expect(expiryOf('a.%%.c')).toBeUndefined();
});
