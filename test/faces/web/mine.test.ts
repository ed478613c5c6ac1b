// test: a person's own page: what a link shows of this person's devices, what it never shows, and that whatever opens nothing tells nothing.
import { afterEach, describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/base/time.ts';
import type { Performer } from '../../../src/contract/table.ts';
import { sqliteDatabase } from '../../../src/domain/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { LANES } from '../../../src/domain/jobs.ts';
import { PEOPLE_PATH, sealLink } from '../../../src/domain/person-link.ts';
import { checkAgain } from '../../../src/engine/operate/check-again.ts';
import { stopEverything } from '../../../src/engine/operate/commands.ts';
import { refuseRequest, requestsOf } from '../../../src/engine/operate/exemption-requests.ts';
import { makeLink, refuseLinks } from '../../../src/engine/operate/person-links.ts';
import { views } from '../../../src/faces/report/index.ts';
import { peopleApp } from '../../../src/faces/web/pages/mine.tsx';
import { type People, peopleOf, peoplePort, personLinks } from '../../../src/runtime/compose/people.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { banRule, type OnPlatform, startOnPlatform } from '../../support/engine-on-platform.ts';
import { textOf } from '../../support/pages.ts';

const BASE = 'http://127.0.0.1:8080';
const HOSTILE = '<script>alert(1)</script> [here](https://evil.example) \u202e & "x"';
const [ADA, BOB] = ['ada@x.org', 'bob@x.org'];

let on: OnPlatform;
let people: People;
const warnings: string[] = [];
afterEach(() => on.close());

/** Ada has d1, which is banned, and d2; Bob has d3. */
async function banned(rule = banRule()) {
  on = startOnPlatform({ rules: [rule] });
  on.platform.addDevice('d1', { Emails: [ADA], DeviceFriendlyName: HOSTILE });
  on.platform.addDevice('d2', { Emails: ['Ada@X.org'] });
  on.platform.addDevice('d3', { Emails: [BOB] });
  on.platform.compromised('d1', 'TRUE');
  await on.run('enforce');
  people = peopleOf({
    ...{ store: on.store, clock: on.engine.clock, database: sqliteDatabase('x'), base: BASE },
    rules: () => [
      {
        ...rule,
        title: 'Ban what MDM reports',
        fix: { problem: 'MDM says that it was broken into', text: 'Call the desk', url: undefined },
      },
    ],
  });
  return open();
}

function open(alone = false, over: Partial<People> = {}, by = performer) {
  // Who waits for an answer waits for real.
  const clock = Object.assign(Object.create(on.engine.clock), { sleep: systemClock.sleep });
  const complain = (fields: object, message: string) => void warnings.push(JSON.stringify([fields, message]));
  const app = peopleApp(
    {
      clock: on.engine.clock,
      hosts: { listenHost: '127.0.0.1', allowed: [] },
      publicUrl: BASE,
      log: { debug: complain, info: complain, warn: complain, error: complain },
      metrics: { answered: () => {} },
      people: peoplePort({ ...people, ...over }, { ...on.engine, store: on.store, clock }, by, 'Europe/Berlin'),
    },
    alone,
  );
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { host: '127.0.0.1:8080', ...init.headers };
    const answer = await app.request(path, { ...init, headers });
    const html = await answer.text();
    return { status: answer.status, headers: answer.headers, html, text: textOf(html) };
  };
  const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: BASE, ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  return { ask, post };
}

/** The store, noting what is read of it, and how many rows. */
function reading(reads: string[]): People['reader'] {
  return new Proxy(on.store, {
    get: (store, name) => {
      const method: unknown = Reflect.get(store, name);
      if (typeof method !== 'function') return method;
      return async (...given: unknown[]) => {
        const found = await method.apply(store, given);
        reads.push(`${String(name)}: ${(found.rows ?? found).length}`);
        return found;
      };
    },
  });
}

/** As the endpoint has it, without a queue. */
const performer: Performer = {
  perform: async (_, input, { by }) => {
    const { kind, id } = input as { kind: 'device'; id: string };
    return views.checked(await checkAgain(on.engine, kind, id, by)) as never;
  },
};

const linkOf = async (person = ADA) => (await makeLink(people, people, person, 'ops')).url.slice(BASE.length);

describe('the page of a person', () => {
  it('shows their devices alone: what is wrong, how to mend it, what was done; no name of theirs is markup or a link', async () => {
    const { ask } = await banned();
    const { status, text, html, headers } = await ask(await linkOf());
    expect(status).toBe(200);
    for (const words of [
      'Your device is blocked',
      'MDM says that it was broken into',
      'Call the desk',
      'Blocked',
      'S-d1',
      'S-d2',
    ])
      expect(text).toContain(words);
    for (const hidden of ['S-d3', BOB, 'ban-compromised', 'Ban what', 'trustward']) expect(text).not.toContain(hidden);
    for (const markup of ['<script', 'href="https://evil', '\u202e']) expect(html).not.toContain(markup);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('cache-control')).toContain('no-store');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  it('names addresses of the platform as text, their hosts in ASCII, and none that is not of the web', async () => {
    await banned();
    const urls = [
      'https://trustw\u0430rd.example/mine/x',
      'javascript:alert(1)',
      'https://trustward.example@evil.example/',
    ];
    const factors = urls.map((url) => ({ text: HOSTILE, url }));
    const notice = { episodeId: '', aheadMs: 0, content: { device: { id: 'd1' }, action: 'ban_device', factors } };
    const reader = new Proxy(on.store, {
      get: (store, name) => {
        if (name === 'notices') return async () => ({ rows: [notice], total: 1 });
        const method: unknown = Reflect.get(store, name);
        return typeof method === 'function' ? method.bind(store) : method;
      },
    });
    const { html, text } = await open(false, { reader }).ask(await linkOf());
    expect(text).toContain('(it names the address https://xn--trustwrd-66g.example/mine/x )');
    expect(text.match(/it names the address/g)).toHaveLength(1);
    for (const theirs of ['trustw\u0430rd', 'javascript:', '@evil', '<script', '\u202e'])
      expect(html).not.toContain(theirs);
    expect(
      [...html.matchAll(/href="([^"]*)"/g)].map(([, to]) => to).filter((to) => !/^(data:,|\/mine\/)/.test(to ?? '')),
    ).toEqual([]);
  });

  it('calls nothing wrong that is no longer so, and says that the block stays', async () => {
    const { ask } = await banned();
    const link = await linkOf();
    expect((await ask(link)).text).toContain('Compromised status (device management) yes');
    on.platform.compromised('d1', 'FALSE');
    await stopEverything(on.engine, { by: 'ops', reason: 'a drill' });
    on.clock.pass(HOUR_MS);
    await on.run('enforce');
    const { text } = await ask(link);
    expect(text).toContain('What was wrong');
    expect(text).toContain('It is no longer so. The block has not been lifted');
    for (const words of ['What is wrong', 'Compromised status', 'How to mend it']) expect(text).not.toContain(words);
  });

  it('is over with the match and all that it led to, and says so', async () => {
    const { ask } = await banned();
    const link = await linkOf();
    on.platform.compromised('d1', 'FALSE');
    on.clock.pass(HOUR_MS);
    await on.run('enforce');
    on.clock.pass(HOUR_MS);
    await on.run('enforce');
    const { status, text } = await ask(link);
    expect(status).toBe(404);
    expect(text).toContain('This link opens nothing');
  });

  it('stays open after the match while what was asked there waits, and for a week after its answer', async () => {
    const { ask, post } = await banned();
    const link = await linkOf();
    expect((await post(`${link}/ask`, { device: 'd1', reason: 'a trip', days: '1' })).status).toBe(303);
    on.platform.compromised('d1', 'FALSE');
    for (let run = 0; run < 2; run += 1) {
      on.clock.pass(HOUR_MS);
      await on.run('enforce');
    }
    const [request] = await requestsOf(on.store, ADA);
    expect((await ask(link)).text).toContain('You asked for an exemption of');
    await refuseRequest({ ...on.engine, store: on.store }, request?.id ?? '', { say: 'bring it in' }, 'ops');
    expect((await ask(link)).text).toContain('bring it in');
    on.clock.pass(8 * DAY_MS);
    expect((await ask(link)).status).toBe(404);
  });

  it('is a link that a notice carries, and makes no second secret', async () => {
    const { ask } = await banned();
    const episode = (await makeLink(people, people, ADA, 'ops')).episode.id;
    const link = (await personLinks(people).of('ADA@x.org', episode)) ?? '';
    expect((await ask(link.slice(BASE.length))).status).toBe(200);
    expect(await personLinks({ ...people, base: undefined }).of(ADA, episode)).toBeUndefined();
  });
});

describe('what opens nothing', () => {
  it('is one answer: a stranger, a cut or changed link, another organization, a revoked one, one of nobody', async () => {
    const { ask } = await banned();
    const link = await linkOf();
    const token = link.slice(PEOPLE_PATH.length + 1);
    const changed = `${token.slice(0, 30)}${token[30] === 'A' ? 'B' : 'A'}${token.slice(31)}`;
    const tries = ['x', 'a'.repeat(100), token.slice(0, -1), `${token}A`, changed, token.toUpperCase(), `${token}=`];
    const answers = [];
    for (const one of tries) answers.push(await ask(`${PEOPLE_PATH}/${one}`));
    answers.push(await open(false, { organization: 'other' }).ask(link));
    await refuseLinks(people, 'Ada@X.org', 'forwarded', 'ops');
    answers.push(await ask(link));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
    expect(new Set(answers.map(({ html }) => html))).toHaveLength(1);
    expect((await ask(await linkOf())).status).toBe(200);
    expect(warnings.join('')).not.toContain(token);
  });

  it('is read alike, so that no time tells whether a link was ours, or whether the person is known', async () => {
    await banned();
    await linkOf();
    const secret = (await people.links.secret()) ?? '';
    const link = (person: string, key = secret) =>
      sealLink(
        key,
        people.organization,
        { person, episodeId: 'over', madeAt: on.clock.now + HOUR_MS },
        Buffer.alloc(12),
      );
    const tries = {
      strange: 'x',
      foreign: link(ADA, 'another'),
      'of nobody': link('eve@x.org'),
      over: link(ADA),
      revoked: '',
    };
    tries.revoked = (await linkOf()).slice(PEOPLE_PATH.length + 1);
    await refuseLinks(people, ADA, 'forwarded', 'ops');
    const found = new Map<string, string[]>();
    for (const [name, token] of Object.entries(tries)) {
      const reads: string[] = [];
      const reader = reading(reads);
      const { status } = await open(false, { reader }).ask(`${PEOPLE_PATH}/${token}`);
      expect(status).toBe(404);
      found.set(name, reads);
    }
    for (const reads of found.values()) expect(reads).toEqual(found.get('strange'));
    expect(found.get('strange')).toEqual(['episodesInForce: 0', 'exemptionRequests: 0']);
  });

  it('is every link of everybody once the secret is replaced, also one that a thief of the former secret makes', async () => {
    const { ask } = await banned();
    const { url, episode } = await makeLink(people, people, ADA, 'ops');
    const [before, link] = [(await people.links.secret()) ?? '', url.slice(BASE.length)];
    await expect(refuseLinks(people, 'everybody', '', 'ops')).rejects.toMatchObject({ code: 'usage' });
    expect((await ask(link)).status).toBe(200);
    await refuseLinks(people, 'Everybody', 'a backup was stolen', 'ops');
    const later = { person: ADA, episodeId: episode.id, madeAt: on.clock.now + HOUR_MS };
    const forged = sealLink(before, people.organization, later, Buffer.alloc(12));
    for (const path of [link, `${PEOPLE_PATH}/${forged}`]) expect((await ask(path)).status).toBe(404);
    expect((await ask(await linkOf())).status).toBe(200);
    const [entry] = await on.store.audit({ kind: 'person_link.revoked', limit: 1 });
    expect(entry?.bytes).toContain('"person":"everybody"');
    for (const secret of [before, (await people.links.secret()) ?? '']) expect(entry?.bytes).not.toContain(secret);
    await expect(makeLink(people, people, 'everybody', 'ops')).rejects.toMatchObject({ code: 'usage' });
  });

  it('is refused after sixty tries of one address in a minute, and a good link never is for what others tried', async () => {
    const { ask } = await banned();
    const link = await linkOf();
    const statuses = [];
    for (let at = 0; at < 61; at += 1) statuses.push((await ask(`${PEOPLE_PATH}/x`)).status);
    expect(statuses.filter((status) => status === 404)).toHaveLength(60);
    expect(statuses.at(-1)).toBe(429);
    expect((await ask(link)).status).toBe(200);
  });

  it('is all else of the endpoint on a listener of its own, where an operator has no more rights', async () => {
    await banned();
    const { ask } = open(true);
    expect((await ask('/healthz')).status).toBe(200);
    for (const path of ['/', '/plans', '/api/runs', '/readyz', `${PEOPLE_PATH}/../plans`])
      expect((await ask(path, { headers: { authorization: 'Bearer x', cookie: 'session=x' } })).status).toBe(404);
  });
});

describe('checking again', () => {
  it('says what is still wrong, lifts the block of what is mended, and has the person in the audit', async () => {
    const { post } = await banned();
    const link = await linkOf();
    on.clock.pass(HOUR_MS);
    const still = await post(`${link}/check`, { device: 'd1' });
    expect(still.text).toContain('still wrong.');
    expect(on.platform.isBanned('S-d1')).toBe(true);
    on.platform.compromised('d1', 'FALSE');
    on.clock.pass(2 * 60_000);
    const first = await post(`${link}/check`, { device: 'd1' });
    expect(first.status).toBe(200);
    on.clock.pass(2 * 60_000);
    const { text, status } = on.platform.isBanned('S-d1') ? await post(`${link}/check`, { device: 'd1' }) : first;
    expect(status).toBe(200);
    expect(text).toContain('mended, and the block is lifted.');
    expect(on.platform.isBanned('S-d1')).toBe(false);
    const started = await on.store.audit({ kind: 'run.started', limit: 10 });
    expect(JSON.stringify(started)).toContain(`person ${ADA}`);
  });

  it('is of a device of theirs alone', async () => {
    const { post } = await banned();
    const link = await linkOf();
    for (const device of ['d3', 'S-d1', 'nothing']) expect((await post(`${link}/check`, { device })).status).toBe(404);
    expect(await on.store.audit({ kind: 'run.started', limit: 10 })).toHaveLength(1);
  });
});

describe('pressing again and again', () => {
  /** Each asks the platform: answers are as `answer` says. */
  function counting(answer: () => Promise<object>) {
    const asked: string[] = [];
    const by: Performer = {
      perform: (_, input) => {
        asked.push((input as { id: string }).id);
        return answer() as never;
      },
    };
    return { asked, ...open(false, {}, by) };
  }
  const found = { readAt: '2026-01-01T00:00:00Z', isRepeat: false, isGone: false, rules: [] };

  it.each([
    ['fails', () => Promise.reject(new Error('no answer'))],
    ['has no such device', async () => ({ ...found, isGone: true })],
  ])('asks a platform that %s once a minute', async (_, answer) => {
    await banned();
    const { asked, post } = counting(answer);
    const path = `${await linkOf()}/check`;
    const presses = await Promise.all(Array.from({ length: 5 }, () => post(path, { device: 'd1' })));
    expect(presses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(asked).toEqual(['d1']);
    on.clock.pass(59_000);
    await post(path, { device: 'd1' });
    expect(asked).toEqual(['d1']);
    on.clock.pass(2_000);
    await post(path, { device: 'd1' });
    expect(asked).toEqual(['d1', 'd1']);
  });

  it('tells a new owner what was found, and not that the device was not the other one’s', async () => {
    await banned();
    const notTheirs = () => Promise.reject(new AppError('not_found', 'device d1 is not of this person'));
    const { asked, post } = counting(() => (asked.length === 1 ? notTheirs() : Promise.resolve(found)));
    await post(`${await linkOf()}/check`, { device: 'd1' });
    on.platform.patch('d1', { Emails: [ADA, 'new@x.org'] });
    await on.run('enforce');
    const { text } = await post(`${await linkOf('new@x.org')}/check`, { device: 'd1' });
    expect([asked, text.includes('no longer')]).toEqual([['d1', 'd1'], false]);
  });

  it('of many persons at once leaves operators their places in the queue, and each is served', async () => {
    await banned();
    const persons = Array.from({ length: 30 }, (_, at) => ({ device: `e${at}`, email: `p${at}@x.org` }));
    for (const { device, email } of persons) on.platform.addDevice(device, { Emails: [email] });
    for (const { device } of persons) on.platform.compromised(device, 'TRUE');
    await on.run('enforce');
    const held: (() => void)[] = [];
    const { asked, post } = counting(() => new Promise((resolve) => held.push(() => resolve(found))));
    const paths = await Promise.all(persons.map(({ email }) => linkOf(email)));
    const presses = paths.map((path, at) => post(`${path}/check`, { device: persons[at]?.device ?? '' }));
    const bound = LANES.operator.placesMax / 4;
    for (let served = 0; served < persons.length; served += 1) {
      await expect.poll(() => held.length).toBeGreaterThan(0);
      expect(asked.length - served).toBeLessThanOrEqual(bound);
      held.shift()?.();
    }
    expect((await Promise.all(presses)).map(({ status }) => status)).toEqual(persons.map(() => 200));
  });

  it('is refused before anything is read, and a link that is revoked meanwhile opens nothing', async () => {
    await banned();
    const [link, reads] = [await linkOf(), [] as string[]];
    const { ask } = open(false, { reader: reading(reads) });
    for (let at = 0; at < 30; at += 1) expect((await ask(link)).status).toBe(200);
    const before = reads.length;
    expect([(await ask(link)).status, reads.length]).toEqual([429, before]);
    on.clock.pass(2_000);
    await refuseLinks(people, ADA, 'forwarded', 'ops');
    expect((await ask(link)).status).toBe(404);
  });

  it('is heard six times at once, then once a minute, and a hundred times a day', async () => {
    await banned();
    const { post } = counting(async () => found);
    const path = `${await linkOf()}/check`;
    const press = async () => (await post(path, { device: 'd1' })).status;
    for (let at = 0; at < 6; at += 1) expect(await press()).toBe(200);
    expect(await press()).toBe(429);
    let heard = 6;
    for (let minute = 0; minute < 200; minute += 1) {
      on.clock.pass(60_000);
      heard += Number((await press()) === 200);
    }
    // Those of the day, and what came again meanwhile.
    expect(heard).toBeGreaterThanOrEqual(100);
    expect(heard).toBeLessThanOrEqual(115);
  });
});

describe('asking for an exemption', () => {
  const fields = { device: 'd1', reason: 'I am in court today', days: '3' };

  it('is a form of the page: it waits, is asked once, and the answer is shown', async () => {
    const { ask, post } = await banned();
    const link = await linkOf();
    expect((await post(`${link}/ask`, fields)).status).toBe(303);
    expect(await requestsOf(on.store, ADA)).toMatchObject([{ device: 'd1', forMs: 3 * DAY_MS, status: 'waiting' }]);
    const { text, html } = await ask(link);
    expect(text).toContain('You asked for an exemption of 3 days.');
    expect(html).not.toContain('name="reason"');
    const again = await post(`${link}/ask`, fields);
    expect(again.status).toBe(409);
    expect(again.text).toContain('S-d1');
  });

  it('is refused for devices of others, what is no form, a foreign page, and more than six times a minute', async () => {
    const { post, ask } = await banned();
    const link = `${await linkOf()}/ask`;
    expect((await post(link, { ...fields, device: 'd3' })).status).toBe(404);
    expect((await post(link, { ...fields, days: '900' })).status).toBe(400);
    expect((await post(link, { ...fields, extra: 'x' })).status).toBe(400);
    expect((await post(link, { ...fields, reason: 'x'.repeat(1_000_000) })).status).toBe(413);
    expect((await post(link, fields, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await ask(link, { method: 'POST', body: '{}', headers: { origin: BASE } })).status).toBe(415);
    expect(await requestsOf(on.store, ADA)).toEqual([]);
    const statuses = [];
    for (let at = 0; at < 7; at += 1) statuses.push((await post(link, { ...fields, device: 'd3' })).status);
    expect(statuses).toContain(429);
  });
});
