// http: decisions and outcomes on the stream, whole, so that other programs can react to them.
import { describe, expect, it, onTestFinished } from 'vitest';
import { EVENT_SCHEMAS } from '../../../src/domain/live-event.ts';
import { listen } from '../../../src/faces/http/listen.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { openEndpoint, TOKENS } from '../../support/endpoint.ts';
import { type EventClientOptions, openStream } from '../../support/event-client.ts';
import { addLiveRun, addRun, decision, intent } from '../../support/filled-store.ts';
import { cloudEventFaults, ocsfFaults } from '../../support/ocsf.ts';
import { RULE as LOADED_RULE } from '../../support/rule-samples.ts';

const RULE = 'ban-compromised-device';

async function serving() {
  const rules = () => [RULE, 'other', 'third'].map((id) => ({ ...LOADED_RULE, id }));
  const endpoint = openEndpoint({ clock: systemClock, rules });
  const listening = await listen(endpoint.app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listening.close(0));
  const stream = (query: string, options: Partial<EventClientOptions> = {}) =>
    openStream(listening.url, { token: TOKENS.read, path: `/api/stream?${query}`, ...options });
  return { ...endpoint, stream };
}

type Serving = Awaited<ReturnType<typeof serving>>;

async function listed({ ask }: Serving, path: string, member: string): Promise<object[]> {
  const body = (await (await ask('GET', path)).json()) as Record<string, object[]>;
  return body[member] ?? [];
}

/** A live run with one intent, settled as its audit says. */
async function actOnce({ store }: Serving, runId = 'run1', rule = RULE): Promise<void> {
  const [decisionId, intentId, episodeId] = [`decision-${runId}`, `intent-${runId}`, `episode-${runId}`];
  const [basis] = intent().basis;
  const own = intent({
    id: intentId,
    runId,
    target: runId,
    basis: [{ ...(basis as NonNullable<typeof basis>), rule, episodeId, decisionId, subjectId: runId }],
  });
  const made = decision({
    ...{ id: decisionId, rule, target: runId, mode: 'enforce', cappedBy: undefined, outcome: undefined, intentId },
    subject: { kind: 'device', id: runId },
  });
  await addRun(store, { id: runId, mode: 'enforce', decisions: [made], intents: [own] });
  const call = { intent: intentId, action: 'ban_device', target: runId };
  await store.markSent({ intentId, run: runId, notes: [{ kind: 'intent.sent', body: call }] });
  const body = { intent: intentId, run: runId, action: 'ban_device', target: runId, outcome: 'succeeded', note: 'ok' };
  await store.settle({ intentId, outcome: 'succeeded', note: 'ok', notes: [{ kind: 'intent.settled', body }] });
}

describe('the stream', () => {
  it('shows a decision and its outcome whole, as the lists show them', async () => {
    const served = await serving();
    const client = await served.stream('kind=decision,outcome');
    await client.until(({ last }) => last === 0);
    await actOnce(served);
    await client.until(({ events }) => events.length === 2);
    const [made] = await listed(served, '/api/decisions', 'decisions');
    const [done] = await listed(served, '/api/intents', 'intents');
    const [seen, outcome] = client.events;
    expect(seen).toMatchObject({
      event: 'decision',
      data: { event: 'decision', kind: 'decision.made', dryRun: false },
    });
    expect(seen?.data.seq).toBe(seen?.id);
    expect({ ...(seen?.data.decision as object), outcome: 'succeeded', outcomeText: 'ok' }).toEqual(made);
    expect(outcome).toMatchObject({
      event: 'outcome',
      data: { kind: 'intent.settled', result: 'succeeded', note: 'ok', dryRun: false },
    });
    expect(outcome?.data.intent).toEqual(done);
    expect(outcome?.data.seq).toBe(outcome?.id);
  });

  it.each(EVENT_SCHEMAS)(
    'shows each entry as one event of %s, the same whichever kind it was asked by',
    async (schema) => {
      const served = await serving();
      await actOnce(served);
      await served.store.appendAudit([{ kind: 'stop.set', body: { by: 'ana (page)', reason: 'look' } }]);
      const all = await served.stream(`after=0&schema=${schema}`);
      await all.until(({ events }) => events.at(-1)?.event === 'stop');
      const ids = all.events.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      expect(all.events.map(({ event }) => event)).toEqual(expect.arrayContaining(['decision', 'intent', 'outcome']));
      for (const { data } of all.events) {
        if (schema !== 'ocsf') expect(cloudEventFaults(data)).toEqual([]);
        if (schema !== 'cloudevents') expect(ocsfFaults(data.data ?? data)).toEqual([]);
      }
      const outcome = all.events.find(({ event }) => event === 'outcome');
      for (const query of ['kind=intent.settled', `kind=outcome&rule=${RULE}`]) {
        const one = await served.stream(`after=0&${query}&schema=${schema}`);
        await one.until(({ events }) => events.length === 1);
        expect(one.events).toEqual([outcome]);
      }
    },
  );

  it('marks a decision of a dry run', async () => {
    const served = await serving();
    const client = await served.stream('after=0&kind=decision');
    await addRun(served.store, { decisions: [decision({ mode: 'dry-run' })] });
    await client.until(({ events }) => events.length === 1);
    expect(client.events[0]?.data).toMatchObject({ dryRun: true, decision: { mode: 'dry-run' } });
  });

  it('shows only the rules that are asked for, and nothing that has no rule', async () => {
    const served = await serving();
    const client = await served.stream('after=0&rule=other,third');
    const outcomes = await served.stream('after=0&rule=other&kind=outcome');
    await actOnce(served, 'run1');
    await actOnce(served, 'run2', 'other');
    await served.store.appendAudit([{ kind: 'notice', body: {} }]);
    await actOnce(served, 'run3', 'third');
    await client.until(({ events }) => events.length === 4);
    await outcomes.until(({ events }) => events.length === 1);
    expect(client.events.map(({ event }) => event)).toEqual(['decision', 'outcome', 'decision', 'outcome']);
    expect(client.events.map(({ data }) => (data.decision ?? data.intent) as { target: string })).toMatchObject(
      ['run2', 'run2', 'run3', 'run3'].map((target) => ({ target })),
    );
    expect(outcomes.events).toMatchObject([{ event: 'outcome', data: { intent: { target: 'run2' } } }]);
  });

  it('that is cut anywhere and resumed misses no decision and no outcome, with and without a filter', async () => {
    const served = await serving();
    for (let run = 1; run <= 4; run += 1) await actOnce(served, `run${run}`);
    for (const filter of ['', '&kind=outcome', '&kind=decision,outcome', `&rule=${RULE}`]) {
      const whole = await served.stream(`after=0${filter}`);
      const { seq: head } = await served.store.auditHead();
      await whole.until(({ last }) => (last ?? 0) >= head - 1);
      const expected = new Set(whole.events.map(({ event, data }) => `${event} ${data.seq}`));
      for (let cut = 0; cut < head; cut += 1) {
        const rest = await served.stream(`after=0${filter}`, { headers: { 'last-event-id': String(cut) } });
        const missing = [...expected].filter((name) => Number(name.split(' ')[1]) > cut);
        await rest.until(({ events }) => events.length >= missing.length);
        expect(rest.events.map(({ event, data }) => `${event} ${data.seq}`)).toEqual(missing);
        rest.cut();
      }
      whole.cut();
    }
  });

  it('shows what the audit keeps of a decision that was removed', async () => {
    const served = await serving();
    const body = { decision: 'gone', rule: RULE, mode: 'dry-run', target: 'SERIAL-9' };
    await served.store.appendAudit([{ kind: 'decision.made', body }]);
    const client = await served.stream(`after=0&rule=${RULE}`);
    await client.until(({ events }) => events.length === 1);
    expect(client.events[0]?.data).toMatchObject({ dryRun: true, decision: null, body });
  });

  it('of a rule that is not there is refused with those that are, and a client that connects again is not', async () => {
    const { stream } = await serving();
    const answer = await stream(`rule=${RULE},otehr`);
    expect(answer.status).toBe(404);
    await answer.ended;
    expect(answer.text).toContain('there is no rule `otehr`: loaded are ban-compromised-device, other, third');
    const again = await stream('rule=otehr', { headers: { 'last-event-id': '0' } });
    expect(again.status).toBe(200);
  });

  it.each([
    ['rule=x&kind=run', '`decision`, `outcome` or both'],
    ['rule=', 'rule'],
    ['kind=outcome.x', 'outcome'],
    ['schema=cef', 'cloudevents-ocsf'],
  ])('refuses %s, and names what is allowed', async (query, words) => {
    const { stream } = await serving();
    const answer = await stream(query);
    await answer.ended;
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(words);
  });

  it('reads the records of a page once, for however many streams', async () => {
    const served = await serving();
    await addLiveRun(served.store);
    let reads = 0;
    const { decisionsById } = served.store;
    served.store.decisionsById = (ids) => {
      reads += 1;
      return decisionsById.call(served.store, ids);
    };
    const clients = await Promise.all(Array.from({ length: 40 }, () => served.stream('after=0&kind=decision')));
    await Promise.all(clients.map((client) => client.until(({ events }) => events.length === 1)));
    expect(reads).toBe(1);
  });
});
