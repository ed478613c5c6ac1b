// test: rules over signals in runs and looks of the engine: what acts, what stays unknown, what people read. In: signals in the store, a platform in memory.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SIGNAL_EVENTS } from '../../src/domain/signal.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { judgeSubject } from '../../src/engine/explain/judge-subject.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';
import { addFleet, lookOn } from '../support/looks.ts';
import { idp } from '../support/transmitter.ts';

const CHANGE = SIGNAL_EVENTS.get('device-compliance-change') as string;
const MINUTE = 60_000;

const filter = '{ transmitter: idp, event: device-compliance-change, of: current_status, within: 1h }';
const parsed = parseRule(
  `
id: ban-not-compliant
severity: high
subject: device
when: { "==": [{ last_signal: ${filter} }, not-compliant] }
then: ban_device
mode: enforce
limits: { max: 1000, percent: 100 }
`,
  'ban-not-compliant.yaml',
  { traits: ACTIONS, transmitters: [idp()] },
);
if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
const { rule } = parsed;

describe('a rule over signals alone', () => {
  let on: OnPlatform;
  let last = 0;
  beforeEach(async () => {
    on = startOnPlatform({ rules: [rule] });
    await addFleet(on, 20);
  });
  afterEach(() => on.close());

  /** `knownMs`: for so long, until now, all that it sent is known. */
  const receive = (id: string, status: string, knownMs = 30 * MINUTE) => {
    last += 1;
    const atMs = on.clock.now;
    const names = {
      deviceId: id,
      serialNumber: `S-${id}`,
      email: undefined,
      serviceId: undefined,
      serviceName: undefined,
    };
    const blank = { subType: '', action: '', severity: '', result: '' };
    const event = {
      id: `idp:${last}`,
      transmitter: 'idp',
      createdAtMs: atMs,
      type: CHANGE,
      body: { current_status: status },
    };
    return on.store.signalBox().receive({
      ...{ transmitter: 'idp', atMs, refused: {}, proven: { fromMs: atMs - knownMs, toMs: atMs } },
      signals: [{ event: { ...event, ...names, ...blank }, jti: `${last}`, untilMs: atMs + MINUTE, isUnknown: false }],
    });
  };
  const tally = async () => {
    const { run } = await on.run();
    return run.findings?.tallies.map(({ match, no_match, unknown }) => ({ match, no_match, unknown }))[0];
  };

  it('acts in the look that takes them up, without a reading of the log of the platform', async () => {
    await receive('d7', 'not-compliant');
    expect(await lookOn(on)).toMatchObject({ result: 'acted', events: 1 });
    expect(on.platform.sent).toEqual(['ban S-d7']);
  });

  it('acts in a whole run, and in the run of a process that began after they were taken up', async () => {
    await receive('d7', 'compliant');
    expect(await tally()).toEqual({ match: 0, no_match: 1, unknown: 19 });
    on.clock.pass(MINUTE);
    await receive('d7', 'not-compliant');
    await receive('d8', 'not-compliant');
    expect(await tally()).toEqual({ match: 2, no_match: 0, unknown: 18 });
    expect(on.platform.sent.toSorted()).toEqual(['ban S-d7', 'ban S-d8']);
    on.engine.feed = { primed: new WeakSet(), triedMs: 0 };
    expect(await tally()).toEqual({ match: 2, no_match: 0, unknown: 18 });
  });

  it('is unknown once its transmitter was silent for longer than two heartbeats, and ends nothing', async () => {
    await receive('d7', 'not-compliant');
    expect(await tally()).toEqual({ match: 1, no_match: 0, unknown: 19 });
    on.clock.pass(2 * MINUTE + 1_000);
    expect(await tally()).toEqual({ match: 0, no_match: 0, unknown: 20 });
    expect(await on.store.claims({ status: 'standing' })).toHaveLength(1);
  });

  it('is explained with what nothing has taken up yet', async () => {
    await receive('d7', 'not-compliant');
    const { engine, store } = on;
    const deps = { ...engine, reader: store, rules: [rule], isWhatIf: false };
    const judged = await judgeSubject(deps as never, [rule], 'device', 'd7');
    expect(judged.explanations).toMatchObject([{ verdict: 'match', facts: [{ value: 'not-compliant' }] }]);
    expect(await store.hasNewSignals()).toBe(true);
  });
});
