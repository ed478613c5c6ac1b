// http: links and sessions by themselves: once, for a time, no more than a bound, and only as long as the token is good.
import { describe, expect, it } from 'vitest';
import { hashOfToken } from '../../src/domain/endpoint-token.ts';
import { SignIn } from '../../src/http/sign-in.ts';
import type { Caller } from '../../src/http/tokens.ts';
import { newSecret } from '../../src/system/secrets.ts';
import { fakeClock } from '../support/filled-store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TOKEN = 'ci-token-0123456789';
const CI: Caller = { name: 'ana (token ci)', scope: 'approve', token: hashOfToken(TOKEN) };
const HERE: Caller = { name: 'ana (page)', scope: 'admin' };

function open({ publicUrl, url = 'http://127.0.0.1:8080' }: { publicUrl?: string; url?: string } = {}) {
  const clock = fakeClock();
  const good = new Map<string, Caller>([[hashOfToken(TOKEN), { name: 'ci', scope: 'approve' }]]);
  const signIn = new SignIn({
    verifyHash: (hash) => good.get(hash),
    secret: newSecret,
    clock,
    address: () => url,
    publicUrl,
  });
  const begin = (caller: Caller = CI) => cookieOf(signIn, signIn.withCode(signIn.link(caller).code));
  return { clock, good, signIn, begin };
}

/** As a browser sends it back. */
function cookieOf(signIn: SignIn, signedIn: ReturnType<SignIn['withCode']>): string {
  if (!signedIn) throw new Error('nobody is signed in');
  return signIn.cookie(signedIn).split(';')[0] as string;
}

describe('a link', () => {
  it('signs in the person who asked for it, once', () => {
    const { signIn } = open();
    const { code, url } = signIn.link(CI);
    expect(url).toBe(`http://127.0.0.1:8080/sign-in?code=${code}`);
    expect(signIn.peek(code)).toEqual(CI);
    expect(signIn.peek(code)).toEqual(CI);
    expect(signIn.withCode(code)?.caller).toEqual(CI);
    expect(signIn.withCode(code)).toBeUndefined();
    expect(signIn.peek(code)).toBeUndefined();
  });

  it('works for ten minutes, and not a moment longer', () => {
    const { signIn, clock } = open();
    const links = [signIn.link(CI), signIn.link(CI)] as const;
    expect(links[0].expiresAtMs).toBe(clock.nowMs() + 10 * MINUTE);
    clock.advance(10 * MINUTE - 1);
    expect(signIn.withCode(links[0].code)).toBeDefined();
    clock.advance(1);
    expect(signIn.peek(links[1].code)).toBeUndefined();
    expect(signIn.withCode(links[1].code)).toBeUndefined();
  });

  it('cannot be guessed from what is near', () => {
    const { signIn } = open();
    const { code } = signIn.link(CI);
    expect(code).toMatch(/^[\w-]{43}$/);
    for (const guess of ['', code.slice(1), `${code}x`, code.toUpperCase(), hashOfToken(code), newSecret(), TOKEN])
      expect(signIn.withCode(guess)).toBeUndefined();
    expect(signIn.withCode(code)).toBeDefined();
  });

  it('is worth nothing once the token behind it is revoked', () => {
    const { signIn, good } = open();
    const { code } = signIn.link(CI);
    good.clear();
    expect(signIn.peek(code)).toBeUndefined();
    expect(signIn.withCode(code)).toBeUndefined();
  });

  it('is one of a hundred: the oldest gives way', () => {
    const { signIn } = open();
    const codes = Array.from({ length: 101 }, () => signIn.link(CI).code);
    expect(codes.filter((code) => signIn.peek(code) === undefined)).toEqual([codes[0]]);
  });

  it('of another holder gives way to nobody who makes many', () => {
    const { signIn } = open();
    const { code } = signIn.link(CI);
    for (let count = 0; count < 200; count += 1) signIn.link({ ...HERE, token: undefined });
    expect(signIn.peek(code)).toEqual(CI);
  });

  it('names the public address, or one that a browser can open', () => {
    const publicUrl = 'https://trust.example.com';
    expect(open({ publicUrl }).signIn.link(CI).url).toMatch(/^https:\/\/trust\.example\.com\/sign-in\?code=/);
    const everywhere = open({ url: 'http://0.0.0.0:8080' }).signIn;
    expect(everywhere.link(CI).url).toMatch(/^http:\/\/127\.0\.0\.1:8080\/sign-in/);
    expect(open({ url: 'http://[::]:8080' }).signIn.link(CI).url).toMatch(/^http:\/\/\[::1\]:8080\/sign-in/);
  });
});

describe('a session', () => {
  it('is opened by a token too, with its name and scope', () => {
    const { signIn } = open();
    const cookie = cookieOf(signIn, signIn.withToken(TOKEN));
    expect(signIn.callerOf(cookie)?.caller).toMatchObject({ name: 'ci', scope: 'approve' });
    expect(signIn.withToken(`${TOKEN}x`)).toBeUndefined();
    expect(signIn.withToken(hashOfToken(TOKEN))).toBeUndefined();
  });

  it('is found among other cookies by its own, and by no other value', () => {
    const { signIn, begin } = open();
    const cookie = begin();
    expect(signIn.callerOf(`a=b; ${cookie}; c`)?.caller).toEqual(CI);
    const id = signIn.callerOf(cookie)?.id as string;
    for (const other of [undefined, '', `x${cookie}`, `${cookie}x`, `trustward-8080=${id}`, 'trustward-8080='])
      expect(signIn.callerOf(other)).toBeUndefined();
  });

  it('lasts twelve hours at most, however often it is used', () => {
    const { signIn, begin, clock } = open();
    const cookie = begin();
    for (let hour = 1; hour < 12; hour += 1) {
      clock.advance(HOUR);
      expect(signIn.callerOf(cookie)).toBeDefined();
    }
    clock.advance(HOUR - 1);
    expect(signIn.callerOf(cookie)).toBeDefined();
    clock.advance(1);
    expect(signIn.callerOf(cookie)).toBeUndefined();
  });

  it('ends after two hours without a request', () => {
    const { signIn, begin, clock } = open();
    const [used, idle] = [begin(), begin()];
    clock.advance(2 * HOUR - 1);
    expect(signIn.callerOf(used)).toBeDefined();
    clock.advance(1);
    expect(signIn.callerOf(idle)).toBeUndefined();
    expect(signIn.callerOf(used)).toBeDefined();
  });

  it('is not prolonged by a wall clock that is set back', () => {
    const steady = fakeClock();
    let wallMs = steady.nowMs();
    const clock = { ...steady, nowMs: () => wallMs };
    const parts = { verifyHash: () => undefined, secret: newSecret, address: () => 'http://127.0.0.1:1' };
    const signIn = new SignIn({ ...parts, clock, publicUrl: undefined });
    const cookie = cookieOf(signIn, signIn.withCode(signIn.link(HERE).code));
    wallMs -= 24 * HOUR;
    steady.advance(2 * HOUR);
    expect(signIn.callerOf(cookie)).toBeUndefined();
  });

  it('ends with the token that it came from, at once', () => {
    const { signIn, begin, good } = open();
    const [cookie, byToken, here] = [begin(), cookieOf(signIn, signIn.withToken(TOKEN)), begin(HERE)];
    const id = signIn.callerOf(cookie)?.id as string;
    expect(signIn.isOpen(id)).toBe(true);
    good.clear();
    expect(signIn.isOpen(id)).toBe(false);
    expect(signIn.callerOf(cookie)).toBeUndefined();
    expect(signIn.callerOf(byToken)).toBeUndefined();
    expect(signIn.callerOf(here)?.caller).toEqual(HERE);
  });

  it('ends when its person signs out, and no other does', () => {
    const { signIn, begin } = open();
    const [mine, other] = [begin(), begin()];
    const id = signIn.callerOf(mine)?.id as string;
    signIn.end(id);
    signIn.end(id);
    signIn.end('no such session');
    expect(signIn.callerOf(mine)).toBeUndefined();
    expect(signIn.isOpen(id)).toBe(false);
    expect(signIn.callerOf(other)).toBeDefined();
  });

  it('is one of a thousand: the oldest gives way', () => {
    const { signIn, begin } = open();
    const cookies = Array.from({ length: 1_001 }, () => begin());
    expect(cookies.filter((cookie) => signIn.callerOf(cookie) === undefined)).toEqual([cookies[0]]);
  });

  it('of another holder gives way to nobody who opens many', () => {
    const { signIn, begin } = open();
    const cookie = begin(HERE);
    for (let count = 0; count < 1_100; count += 1) begin();
    expect(signIn.callerOf(cookie)?.caller).toEqual(HERE);
  });

  it('is not hidden by cookies of the same name that open nothing', () => {
    const { signIn, begin } = open();
    const cookie = begin();
    for (const header of [`trustward-8080=x; ${cookie}`, `trustward-8080=; ${cookie}`, `${cookie}; ${cookie}`])
      expect(signIn.callerOf(header)?.caller).toEqual(CI);
  });

  it('is none of two that a browser sends at a time', () => {
    const { signIn, begin } = open();
    const [one, other] = [begin(), begin(HERE)];
    for (const header of [`${one}; ${other}`, `${other}; ${one}`]) expect(signIn.callerOf(header)).toBeUndefined();
    expect(signIn.callerOf(one)?.caller).toEqual(CI);
  });

  it('has a cookie that no script reads and no other site sends', () => {
    const { signIn, begin } = open();
    expect(begin()).toMatch(/^trustward-8080=[\w-]{43}$/);
    expect(signIn.cookie({ caller: CI, value: 'v', name: 'trustward-8080' })).toBe(
      'trustward-8080=v; Path=/; HttpOnly; SameSite=Strict',
    );
    expect(signIn.signOut(undefined)).toEqual(['trustward-8080=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0']);
    const proxied = open({ publicUrl: 'https://trust.example.com' }).signIn;
    expect(proxied.cookie({ caller: CI, value: 'v', name: 'trustward-8080' })).toBe(
      'trustward-8080=v; Path=/; HttpOnly; SameSite=Strict; Secure',
    );
  });
});
