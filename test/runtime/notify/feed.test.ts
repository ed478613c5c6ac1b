// test: decisions and outcomes at webhooks, and the heartbeat after each whole run: in order, at least once, whatever fails.
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Clock, Log, Random } from '../../../src/domain/ports.ts';
import { views } from '../../../src/faces/report/index.ts';
import { readConfig } from '../../../src/runtime/config/config.ts';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { type FedWebhook, type FeedDeps, Feeds } from '../../../src/runtime/notify/feed.ts';
import { type Destination, Heartbeat } from '../../../src/runtime/notify/settings.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { countingIds } from '../../support/engine-on-platform.ts';
import { standingClock } from '../../support/event-client.ts';
import { addRun, decision, fakeClock, openStore } from '../../support/filled-store.ts';
import { cloudEventFaults, ocsfFaults } from '../../support/ocsf.ts';
import { type Organization, silentLog, startOrganization } from '../../support/organization.ts';
import { CERTIFICATE, type Receiver, startReceiver } from '../../support/receiver.ts';

const never = new AbortController().signal;
const half: Random = { next: () => 0.5 };
const SECRET = 'a secret of some length';
const RULE = 'ban-compromised-device';

interface Body {
  delivery: string;
  first: number | null;
  last: number | null;
  gaps?: { from: number; to: number }[];
  events: { event: string; seq: number; dryRun: boolean; decision: { id: string; rule: string } | null }[];
}

function webhook(feed: Partial<FedWebhook['feed']> = {}, more: Partial<FedWebhook> = {}): FedWebhook {
  return {
    name: 'siem',
    url: new URL('https://hooks.example.com/x'),
    secret: SECRET,
    timeoutMs: 60_000,
    attemptsMax: 3,
    allowPrivate: true,
    ca: CERTIFICATE,
    feed: { events: ['decision', 'outcome'], rules: undefined, most: 100, waitMs: 0, ...feed },
    ...more,
  };
}

/** Feeds whose deliveries are recorded; each takes its answer from `answers`, and succeeds when none is left. */
function recorded(store: SqliteStore, one = webhook(), answers: boolean[] = [], over: Partial<FeedDeps> = {}) {
  const sent: Body[] = [];
  const clock = standingClock();
  const deps: FeedDeps = {
    ...{ reader: store, positions: store.feedPositions(), view: views.liveEvent, clock, ids: countingIds() },
    ...{ random: half, log: silentLog },
    send: async (_webhook, { body }) => {
      sent.push(JSON.parse(body) as Body);
      const ok = answers.shift() ?? true;
      return { ok, note: ok ? 'status 200' : 'status 503' };
    },
    ...over,
  };
  return { feeds: new Feeds(deps, [one]), sent, clock };
}

let made = 0;
async function decide(store: SqliteStore, count = 1, rule = RULE, mode: 'dry-run' | 'enforce' = 'dry-run') {
  made += 1;
  const decisions = Array.from({ length: count }, (_, index) => decision({ id: `d${made}-${index}`, rule, mode }));
  await addRun(store, { id: `run${made}`, decisions });
  return decisions.map(({ id }) => id);
}

const idsIn = (sent: readonly Body[]) => sent.flatMap(({ events }) => events.map((event) => event.decision?.id));

describe('a webhook that receives events', () => {
  it('gets signed lists of decisions from its beginning on, in order, each once', async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const store = openStore();
    await decide(store);
    const url = new URL(`https://localhost:${receiver.port}/hook`);
    const { feeds } = recorded(store, webhook({ most: 2 }, { url }), [], { send: undefined as never });
    await feeds.begin();
    const ids = [...(await decide(store, 3)), ...(await decide(store, 1, RULE, 'enforce'))];
    await feeds.flush(never);
    await feeds.flush(never);
    const bodies = receiver.received.map(({ body }) => JSON.parse(body) as Body);
    expect(bodies.map(({ events }) => events.length)).toEqual([2, 2]);
    expect(idsIn(bodies)).toEqual(ids);
    expect(bodies.flatMap(({ events }) => events.map(({ dryRun }) => dryRun))).toEqual([true, true, true, false]);
    const seqs = bodies.flatMap(({ events }) => events.map(({ seq }) => seq));
    expect(seqs).toEqual([...new Set(seqs)].sort((one, other) => one - other));
    for (const [index, { headers, body }] of receiver.received.entries()) {
      const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-trustward-signature'])) ?? [];
      expect(createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex')).toBe(mac);
      expect(headers['x-trustward-delivery']).toBe(bodies[index]?.delivery);
      expect(bodies[index]).toMatchObject({
        first: bodies[index]?.events[0]?.seq,
        last: bodies[index]?.events.at(-1)?.seq,
      });
    }
  });

  it.each([
    ['ocsf', 100, 'application/json'],
    ['cloudevents', 100, 'application/cloudevents-batch+json'],
    ['cloudevents-ocsf', 1, 'application/cloudevents+json'],
  ] as const)('gets them as %s, up to %i in a delivery, signed and as what they are', async (schema, most, type) => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const store = openStore();
    const url = new URL(`https://localhost:${receiver.port}/hook`);
    const { feeds } = recorded(store, webhook({ most, schema }, { url }), [], { send: undefined as never });
    await feeds.begin();
    receiver.answers.push(503);
    await decide(store, 2);
    await feeds.flush(never);
    await feeds.flush(never);
    const [refused, ...taken] = receiver.received;
    expect(taken[0]?.body).toBe(refused?.body);
    const events = taken.flatMap(({ body }) => JSON.parse(body));
    expect(events.length).toBe(2);
    const ids = events.map((event) => event.id ?? event.metadata.uid);
    expect(new Set(ids).size).toBe(2);
    for (const event of events) {
      if (schema !== 'ocsf') expect(cloudEventFaults(event)).toEqual([]);
      if (schema !== 'cloudevents') expect(ocsfFaults(event.data ?? event)).toEqual([]);
    }
    if (schema === 'cloudevents') expect(events[0]).toMatchObject({ dryrun: true, data: { decision: { rule: RULE } } });
    for (const { headers, body } of receiver.received) {
      expect(headers['content-type']).toBe(type);
      const [, seconds, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-trustward-signature'])) ?? [];
      expect(createHmac('sha256', SECRET).update(`${seconds}.${body}`).digest('hex')).toBe(mac);
    }
  });

  it('gets only the events and rules that it names', async () => {
    const store = openStore();
    const { feeds, sent } = recorded(store, webhook({ events: ['decision'], rules: ['other'] }));
    const { feeds: outcomes, sent: others } = recorded(store, webhook({ events: ['outcome'] }, { name: 'outcomes' }));
    await feeds.begin();
    await outcomes.begin();
    await decide(store, 2);
    const ids = await decide(store, 2, 'other');
    await feeds.flush(never);
    await outcomes.flush(never);
    expect(idsIn(sent)).toEqual(ids);
    expect(others).toEqual([]);
  });

  it('gets a full list at once, and otherwise after the wait for more', async () => {
    const store = openStore();
    const { feeds, sent, clock } = recorded(store, webhook({ most: 3, waitMs: 10_000 }));
    await feeds.begin();
    const ending = new AbortController();
    const running = feeds.run(ending.signal);
    onTestFinished(async () => {
      ending.abort();
      await running;
    });
    const pass = async (ms: number) => {
      for (let at = 0; at < ms; at += 250) {
        await clock.advance(250);
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    store.onAudited(() => feeds.poke());
    await decide(store, 1);
    await pass(9_000);
    expect(sent).toEqual([]);
    await pass(2_000);
    expect(sent.map(({ events }) => events.length)).toEqual([1]);
    await decide(store, 7);
    await pass(1_000);
    expect(sent.map(({ events }) => events.length)).toEqual([1, 3, 3]);
  });

  it('that refuses gets the same delivery again, and what came later after it', async () => {
    const store = openStore();
    const { feeds, sent } = recorded(store, webhook({ most: 2 }), [false, false]);
    await feeds.begin();
    const ids = await decide(store, 2);
    await feeds.flush(never);
    ids.push(...(await decide(store, 2)));
    await feeds.flush(never);
    await feeds.flush(never);
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[2]).toEqual(sent[0]);
    expect(idsIn(sent.slice(2))).toEqual(ids);
  });

  it('misses no event and gets them in order, whatever is refused and whenever the process is killed', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ decide: fc.integer({ min: 1, max: 5 }) }),
        fc.record({ answers: fc.array(fc.boolean(), { maxLength: 3 }) }),
        fc.constant('kill' as const),
        fc.constant('kill before its position is stored' as const),
      ),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 1, max: 4 }), async (all, most) => {
        const clock = fakeClock();
        const store = openStore(clock);
        const answers: boolean[] = [];
        let isForgetful = false;
        const positions = store.feedPositions();
        const forgetting: FeedDeps['positions'] = {
          positionOf: (name) => positions.positionOf(name),
          beginAt: (name, seq) => positions.beginAt(name, seq),
          claim: (name, seq, ms) => positions.claim(name, seq, ms),
          savePosition: async (claim, seq) => {
            if (!isForgetful) await positions.savePosition(claim, seq);
          },
        };
        const got: Body[] = [];
        const start = async () => {
          const { feeds } = recorded(store, webhook({ most }), answers, {
            positions: forgetting,
            send: async (_webhook, { body }) => {
              const ok = answers.shift() ?? true;
              if (ok) got.push(JSON.parse(body) as Body);
              return { ok, note: '' };
            },
          });
          await feeds.begin();
          return feeds;
        };
        let feeds = await start();
        const ids: string[] = [];
        for (const step of all) {
          if (typeof step === 'object' && 'decide' in step) ids.push(...(await decide(store, step.decide)));
          else if (typeof step === 'object') answers.splice(0, answers.length, ...step.answers);
          isForgetful = step === 'kill before its position is stored';
          await feeds.flush(never);
          isForgetful = false;
          // What a process had claimed when it was killed is free after its claim.
          if (typeof step === 'string') clock.advance(120_000);
          if (typeof step === 'string') feeds = await start();
        }
        answers.length = 0;
        await feeds.flush(never);
        const bySeq = new Map(got.flatMap(({ events }) => events.map((event) => [event.seq, event.decision?.id])));
        expect([...bySeq].sort(([one], [other]) => one - other).map(([, id]) => id)).toEqual(ids);
        // A repeat goes back once, and then on in order.
        for (const { events } of got)
          expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).sort((one, other) => one - other));
      }),
      { numRuns: 40 },
    );
  });

  it('is told which part of the audit was archived before it could be sent', async () => {
    const store = openStore();
    let to = 0;
    const archived: FeedDeps['reader'] = {
      auditHead: () => store.auditHead(),
      decisionsById: (ids) => store.decisionsById(ids),
      intents: (filter) => store.intents(filter),
      audit: ({ afterSeq = 0, limit }) => store.audit({ afterSeq: Math.max(afterSeq, to), limit }),
    };
    const { feeds, sent } = recorded(store, webhook(), [], { reader: archived });
    await feeds.begin();
    await decide(store, 3);
    to = (await store.auditHead()).seq;
    const ids = await decide(store, 1);
    await feeds.flush(never);
    expect(sent.flatMap(({ gaps }) => gaps ?? [])).toEqual([{ from: 1, to }]);
    expect(idsIn(sent)).toEqual(ids);
    // Others' schemas have no place for it in the body.
    const headers: (Record<string, string> | undefined)[] = [];
    const { feeds: others } = recorded(store, webhook({ schema: 'cloudevents' }, { name: 'other' }), [], {
      reader: archived,
      send: async (_webhook, sending) => {
        headers.push(sending.headers);
        return { ok: true, note: 'status 200' };
      },
    });
    await store.feedPositions().beginAt('other', 0);
    await others.flush(never);
    expect(headers).toMatchObject([{ 'X-Trustward-Gaps': `1-${to}` }]);
  });

  it('that is down is an alert after 15 minutes, until it accepts a delivery', async () => {
    const store = openStore();
    const answers = [false, false];
    const { feeds, clock } = recorded(store, webhook(), answers);
    await feeds.begin();
    await decide(store, 2);
    const [entry] = await store.audit({ limit: 1 });
    await feeds.flush(never);
    expect(await feeds.alerts()).toMatchObject(clock.nowMs() - Number(entry?.at) < 900_000 ? [] : [{}]);
    await clock.advance(900_000);
    expect(await feeds.states()).toMatchObject([{ webhook: 'siem', behind: expect.any(Number) }]);
    expect(await feeds.alerts()).toMatchObject([{ code: 'webhook_behind', about: { webhook: 'siem' } }]);
    await feeds.flush(never);
    await feeds.flush(never);
    expect(await feeds.alerts()).toEqual([]);
    expect(await feeds.states()).toEqual([{ webhook: 'siem', behind: 0, failingSince: undefined }]);
  });
});

describe('the heartbeat over real https', () => {
  const SECRET = 'canary-5f2c';
  const never = new AbortController().signal;

  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  function beating(more: Partial<Destination> = {}, clock: Clock = impatient()) {
    const lines: string[] = [];
    const write = (_: object, text: string) => void lines.push(text);
    const log: Log = { debug: write, info: write, warn: write, error: write };
    const url = new URL(`https://localhost:${receiver.port}/${SECRET}?token=${SECRET}`);
    const destination = { url, timeoutMs: 5_000, allowPrivate: true, ca: CERTIFICATE, ...more };
    return { heartbeat: new Heartbeat({ destination, clock, log }), lines };
  }

  /** Pauses take no time. */
  function impatient(): Clock {
    return { ...systemClock, sleep: async (_ms, signal) => signal?.throwIfAborted() };
  }

  describe('a heartbeat', () => {
    it('is one GET to exactly the address', async () => {
      const { heartbeat, lines } = beating();
      heartbeat.beat();
      await heartbeat.end(never);
      expect(receiver.received).toMatchObject([{ method: 'GET', path: `/${SECRET}?token=${SECRET}`, body: '' }]);
      expect(heartbeat.state).toEqual({ acceptedAt: expect.any(Number), failingSince: undefined });
      expect(lines).toEqual([]);
    });

    it('that is not accepted is tried three times in all, and its failure is logged once without the address', async () => {
      receiver.answers.push(500, 302, 404);
      const { heartbeat, lines } = beating();
      heartbeat.beat();
      await heartbeat.end(never);
      expect(receiver.received.length).toBe(3);
      expect(lines).toEqual([`the heartbeat to localhost:${receiver.port} is not accepted: status 404`]);
      expect(heartbeat.state).toEqual({ acceptedAt: undefined, failingSince: expect.any(Number) });

      heartbeat.beat();
      await heartbeat.end(never);
      expect(lines[1]).toBe(`the heartbeat to localhost:${receiver.port} is accepted again`);
      expect(heartbeat.state.failingSince).toBeUndefined();
    });

    it('to a private address is not sent without the permission', async () => {
      const { heartbeat, lines } = beating({ allowPrivate: false });
      heartbeat.beat();
      await heartbeat.end(never);
      expect(receiver.received).toEqual([]);
      expect(lines.join()).toContain('not a public address');
      expect(lines.join()).not.toContain(SECRET);
    });

    it('gives way to the next one, and to the end of the process', async () => {
      receiver.answers.push('hang', 'hang');
      const { heartbeat } = beating({ timeoutMs: 60_000 });
      heartbeat.beat();
      await receiver.arrived(1);
      heartbeat.beat();
      await receiver.arrived(2);
      await heartbeat.end(AbortSignal.abort());
      expect(receiver.received.length).toBe(2);
    });
  });

  describe('the address of the heartbeat', () => {
    const REAL = { TRUSTWARD_API_URL: 'https://console.example', TRUSTWARD_API_KEY: 'key-0123' };
    const faultOf = (url: string, hosts: string): string => {
      try {
        readConfig({ ...REAL, TRUSTWARD_HEARTBEAT_URL: url, TRUSTWARD_WEBHOOK_HOSTS: hosts });
        return '';
      } catch (error) {
        return (error as Error).message;
      }
    };

    it('follows the rules of webhooks, and no fault repeats more than its host', () => {
      expect(faultOf(`https://hc-ping.com/${SECRET}`, 'hc-ping.com')).toBe('');
      expect(faultOf(`http://hc-ping.com/${SECRET}`, 'hc-ping.com')).toContain('begins with https://');
      expect(faultOf(`https://other.example/${SECRET}`, 'hc-ping.com')).toContain('`other.example` is not among');
      expect(faultOf(`https://ops:${SECRET}@hc-ping.com/`, 'hc-ping.com')).toContain('user name or password');
      expect(faultOf(`https://127.0.0.1/${SECRET}`, '127.0.0.1')).toContain('not a public address');
      for (const url of [`http://hc-ping.com/${SECRET}`, `https://other.example/${SECRET}`, `nonsense ${SECRET}`])
        expect(faultOf(url, 'hc-ping.com')).not.toContain(SECRET);
    });
  });

  describe('a daemon', () => {
    let org: Organization;
    afterEach(() => org.close());

    it('sends one after its run, shows it at /readyz, and a receiver that hangs delays neither runs nor the end', async () => {
      org = await startOrganization({
        devices: 20,
        env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
      });
      const ca = join(org.dir, 'ca.pem');
      const url = join(org.dir, 'heartbeat-url');
      writeFileSync(ca, CERTIFICATE);
      writeFileSync(url, `https://localhost:${receiver.port}/${SECRET}\n`);
      Object.assign(org.env, {
        TRUSTWARD_HEARTBEAT_URL_FILE: url,
        TRUSTWARD_HEARTBEAT_CA: ca,
        TRUSTWARD_HEARTBEAT_PRIVATE: 'yes',
        TRUSTWARD_WEBHOOK_HOSTS: 'localhost',
      });
      await org.restart();
      const daemon = await startDaemon(org.composition);
      await receiver.arrived(1);
      const { heartbeat } = org.composition;
      await heartbeat?.end(never);
      const text = await (await fetch(`${daemon.url}/readyz`)).text();
      expect(text).toMatch(/"name":"heartbeat","ok":true,"text":"last accepted 20/);
      expect(text).not.toContain(SECRET);

      receiver.answers.push('hang');
      heartbeat?.beat();
      await receiver.arrived(2);
      const { status } = await org.run('dry-run').then(({ run }) => run);
      expect(status).toBe('completed');
      await daemon.stop();
    });
  });
});
