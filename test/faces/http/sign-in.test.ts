// http: links and sessions by themselves: once, for a time, no more than a bound, and only as long as the token is good.
import { describe, expect, it } from 'vitest';
import { type Caller, hashOfToken } from '../../../src/domain/endpoint-token.ts';
import { type SignedIn, SignedInMemory, SignIn } from '../../../src/faces/http/sign-in.ts';
import { newSecret } from '../../../src/runtime/system/ids.ts';
import { fakeClock } from '../../support/filled-store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TOKEN = 'ci-token-0123456789';
const CI: Caller = { name: 'ana (token ci)', scope: 'approve', token: hashOfToken(TOKEN) };
const HERE: Caller = { name: 'ana (page)', scope: 'admin' };

function open({ publicUrl, url = 'http://127.0.0.1:8080' }: { publicUrl?: string; url?: string } = {}) {
  const clock = fakeClock();
  const good = new Map<string, Caller>([[hashOfToken(TOKEN), { name: 'ci', scope: 'approve' }]]);
  const store = new SignedInMemory(clock);
  const signIn = new SignIn({
    store,
    verifyHash: (hash) => good.get(hash),
    secret: newSecret,
    clock,
    address: () => url,
    publicUrl,
  });
  const begin = async (caller: Caller = CI) =>
    cookieOf(signIn, await signIn.withCode((await signIn.link(caller)).code));
  return { clock, good, signIn, begin, store };
}

/** As a browser sends it back. */
function cookieOf(signIn: SignIn, signedIn: SignedIn | undefined): string {
  if (!signedIn) throw new Error('nobody is signed in');
  return signIn.cookie(signedIn).split(';')[0] as string;
}

describe('a link', () => {
  it('signs in the person who asked for it, once', async () => {
    const { signIn } = open();
    const { code, url } = await signIn.link(CI);
    expect(url).toBe(`http://127.0.0.1:8080/sign-in?code=${code}`);
    expect(await signIn.peek(code)).toEqual(CI);
    expect(await signIn.peek(code)).toEqual(CI);
    expect((await signIn.withCode(code))?.caller).toEqual(CI);
    expect(await signIn.withCode(code)).toBeUndefined();
    expect(await signIn.peek(code)).toBeUndefined();
  });

  it('works for ten minutes, and not a moment longer', async () => {
    const { signIn, clock } = open();
    const links = [await signIn.link(CI), await signIn.link(CI)] as const;
    expect(links[0].expiresAtMs).toBe(clock.nowMs() + 10 * MINUTE);
    clock.advance(10 * MINUTE - 1);
    expect(await signIn.withCode(links[0].code)).toBeDefined();
    clock.advance(1);
    expect(await signIn.peek(links[1].code)).toBeUndefined();
    expect(await signIn.withCode(links[1].code)).toBeUndefined();
  });

  it('cannot be guessed from what is near', async () => {
    const { signIn } = open();
    const { code } = await signIn.link(CI);
    expect(code).toMatch(/^[\w-]{43}$/);
    for (const guess of ['', code.slice(1), `${code}x`, code.toUpperCase(), hashOfToken(code), newSecret(), TOKEN])
      expect(await signIn.withCode(guess)).toBeUndefined();
    expect(await signIn.withCode(code)).toBeDefined();
  });

  it('is worth nothing once the token behind it is revoked', async () => {
    const { signIn, good } = open();
    const { code } = await signIn.link(CI);
    good.clear();
    expect(await signIn.peek(code)).toBeUndefined();
    expect(await signIn.withCode(code)).toBeUndefined();
  });

  it('is one of a hundred: the oldest gives way', async () => {
    const { signIn } = open();
    const codes: string[] = [];
    for (let count = 0; count < 101; count += 1) codes.push((await signIn.link(CI)).code);
    const gone = await Promise.all(codes.map(async (code) => (await signIn.peek(code)) === undefined));
    expect(codes.filter((_, index) => gone[index])).toEqual([codes[0]]);
  });

  it('of another holder gives way to nobody who makes many', async () => {
    const { signIn } = open();
    const { code } = await signIn.link(CI);
    for (let count = 0; count < 200; count += 1) await signIn.link({ ...HERE, token: undefined });
    expect(await signIn.peek(code)).toEqual(CI);
  });

  it('names the public address, or one that a browser can open', async () => {
    const publicUrl = 'https://trust.example.com';
    expect((await open({ publicUrl }).signIn.link(CI)).url).toMatch(/^https:\/\/trust\.example\.com\/sign-in\?code=/);
    const everywhere = open({ url: 'http://0.0.0.0:8080' }).signIn;
    expect((await everywhere.link(CI)).url).toMatch(/^http:\/\/127\.0\.0\.1:8080\/sign-in/);
    expect((await open({ url: 'http://[::]:8080' }).signIn.link(CI)).url).toMatch(/^http:\/\/\[::1\]:8080\/sign-in/);
  });
});

describe('a session', () => {
  it('is opened by a token too, with its name and scope', async () => {
    const { signIn } = open();
    const cookie = cookieOf(signIn, await signIn.withToken(TOKEN));
    expect((await signIn.callerOf(cookie))?.caller).toMatchObject({ name: 'ci', scope: 'approve' });
    expect(await signIn.withToken(`${TOKEN}x`)).toBeUndefined();
    expect(await signIn.withToken(hashOfToken(TOKEN))).toBeUndefined();
  });

  it('is found among other cookies by its own, and by no other value', async () => {
    const { signIn, begin } = open();
    const cookie = await begin();
    expect((await signIn.callerOf(`a=b; ${cookie}; c`))?.caller).toEqual(CI);
    const id = (await signIn.callerOf(cookie))?.id as string;
    for (const other of [undefined, '', `x${cookie}`, `${cookie}x`, `trustward-8080=${id}`, 'trustward-8080='])
      expect(await signIn.callerOf(other)).toBeUndefined();
  });

  it('lasts twelve hours at most, however often it is used', async () => {
    const { signIn, begin, clock } = open();
    const cookie = await begin();
    for (let hour = 1; hour < 12; hour += 1) {
      clock.advance(HOUR);
      expect(await signIn.callerOf(cookie)).toBeDefined();
    }
    clock.advance(HOUR - 1);
    expect(await signIn.callerOf(cookie)).toBeDefined();
    clock.advance(1);
    expect(await signIn.callerOf(cookie)).toBeUndefined();
  });

  it('ends after two hours without a request', async () => {
    const { signIn, begin, clock } = open();
    const [used, idle] = [await begin(), await begin()];
    clock.advance(2 * HOUR - 1);
    expect(await signIn.callerOf(used)).toBeDefined();
    clock.advance(1);
    expect(await signIn.callerOf(idle)).toBeUndefined();
    expect(await signIn.callerOf(used)).toBeDefined();
  });

  it('is not prolonged by a wall clock that is set back', async () => {
    const steady = fakeClock();
    let wallMs = steady.nowMs();
    const clock = { ...steady, nowMs: () => wallMs };
    const parts = {
      store: new SignedInMemory(clock),
      verifyHash: () => undefined,
      secret: newSecret,
      address: () => 'http://127.0.0.1:1',
    };
    const signIn = new SignIn({ ...parts, clock, publicUrl: undefined });
    const cookie = cookieOf(signIn, await signIn.withCode((await signIn.link(HERE)).code));
    wallMs -= 24 * HOUR;
    steady.advance(2 * HOUR);
    expect(await signIn.callerOf(cookie)).toBeUndefined();
  });

  it('ends with the token that it came from, at once', async () => {
    const { signIn, begin, good } = open();
    const [cookie, byToken, here] = [await begin(), cookieOf(signIn, await signIn.withToken(TOKEN)), await begin(HERE)];
    const id = (await signIn.callerOf(cookie))?.id as string;
    expect(await signIn.isOpen(id)).toBe(true);
    good.clear();
    expect(await signIn.isOpen(id)).toBe(false);
    expect(await signIn.callerOf(cookie)).toBeUndefined();
    expect(await signIn.callerOf(byToken)).toBeUndefined();
    expect((await signIn.callerOf(here))?.caller).toEqual(HERE);
  });

  it('ends when its person signs out, and no other does', async () => {
    const { signIn, begin } = open();
    const [mine, other] = [await begin(), await begin()];
    const id = (await signIn.callerOf(mine))?.id as string;
    await signIn.signOut(mine);
    await signIn.signOut(mine);
    await signIn.signOut(`trustward-8080=${id}`);
    expect(await signIn.callerOf(mine)).toBeUndefined();
    expect(await signIn.isOpen(id)).toBe(false);
    expect(await signIn.callerOf(other)).toBeDefined();
  });

  it('is one of a thousand: the oldest gives way', async () => {
    const { signIn, begin } = open();
    const cookies: string[] = [];
    for (let count = 0; count < 1_001; count += 1) cookies.push(await begin());
    expect(await signIn.callerOf(cookies[0])).toBeUndefined();
    for (const cookie of [cookies[1], cookies.at(-1)]) expect(await signIn.callerOf(cookie)).toBeDefined();
  });

  it('of another holder gives way to nobody who opens many', async () => {
    const { signIn, begin } = open();
    const cookie = await begin(HERE);
    for (let count = 0; count < 1_100; count += 1) await begin();
    expect((await signIn.callerOf(cookie))?.caller).toEqual(HERE);
  });

  it('is not hidden by cookies of the same name that open nothing', async () => {
    const { signIn, begin } = open();
    const cookie = await begin();
    for (const header of [`trustward-8080=x; ${cookie}`, `trustward-8080=; ${cookie}`, `${cookie}; ${cookie}`])
      expect((await signIn.callerOf(header))?.caller).toEqual(CI);
  });

  it('is used once in a minute for the store, however often it is asked for', async () => {
    const { signIn, begin, clock, store } = open();
    const cookie = await begin();
    let uses = 0;
    const noteUse = store.noteUse.bind(store);
    store.noteUse = (session) => {
      uses += 1;
      return noteUse(session);
    };
    for (let second = 0; second < 180; second += 1) {
      clock.advance(1_000);
      expect(await signIn.callerOf(cookie)).toBeDefined();
    }
    expect(uses).toBe(3);
  });

  it('is open whether or not its use can be recorded', async () => {
    const { signIn, begin, clock, store } = open();
    const cookie = await begin();
    store.noteUse = () => Promise.reject(new Error('read-only'));
    clock.advance(MINUTE);
    expect((await signIn.callerOf(cookie))?.caller).toEqual(CI);
  });

  it('that nobody can look for is a failure, and never no session', async () => {
    const { signIn, begin, store } = open();
    const cookie = await begin();
    const id = (await signIn.callerOf(cookie))?.id as string;
    store.find = () => Promise.reject(new Error('gone'));
    for (const look of [signIn.callerOf(cookie), signIn.isOpen(id), signIn.hasSession(cookie), signIn.signOut(cookie)])
      await expect(look).rejects.toThrow('gone');
  });

  it('is none of two that a browser sends at a time', async () => {
    const { signIn, begin } = open();
    const [one, other] = [await begin(), await begin(HERE)];
    for (const header of [`${one}; ${other}`, `${other}; ${one}`])
      expect(await signIn.callerOf(header)).toBeUndefined();
    expect((await signIn.callerOf(one))?.caller).toEqual(CI);
  });

  it('has a cookie that no script reads and no other site sends', async () => {
    const { signIn, begin } = open();
    expect(await begin()).toMatch(/^trustward-8080=[\w-]{43}$/);
    expect(signIn.cookie({ caller: CI, value: 'v', name: 'trustward-8080' })).toBe(
      'trustward-8080=v; Path=/; HttpOnly; SameSite=Strict',
    );
    expect(await signIn.signOut(undefined)).toEqual(['trustward-8080=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0']);
    const proxied = open({ publicUrl: 'https://trust.example.com' }).signIn;
    expect(proxied.cookie({ caller: CI, value: 'v', name: 'trustward-8080' })).toBe(
      'trustward-8080=v; Path=/; HttpOnly; SameSite=Strict; Secure',
    );
  });
});
