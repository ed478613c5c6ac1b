// test: whole runs over random fleets and answers: nothing is lost, doubled or unaudited, and a dry run foretells a live one.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { verifyChain } from '../../../src/engine/audit/signing-key.ts';
import { banRule, type OnPlatform, QUIET_MS, startOnPlatform } from '../../support/engine-on-platform.ts';
import type { Answer } from '../../support/platform.ts';

const DEVICES = ['d1', 'd2', 'd3'];

const step = fc.record({
  facts: fc.array(
    fc.tuple(fc.constantFrom(...DEVICES), fc.constantFrom('TRUE', 'FALSE', null), fc.constantFrom('TRUE', 'FALSE')),
    { maxLength: 3 },
  ),
  answer: fc.constantFrom<Answer>('done', 'done', 'lost', 'hidden', 'late', 'failed', 'idle'),
  passMs: fc.constantFrom(1_000, QUIET_MS, 60_000),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function play(steps: Step[], look: (on: OnPlatform) => Promise<void>): Promise<void> {
  const on = startOnPlatform({ rules: [banRule({ id: 'a' }), banRule({ id: 'b', field: 'Other', more: 'for: 30s' })] });
  for (const id of DEVICES) on.platform.addDevice(id);
  for (const { facts, answer, passMs } of steps) {
    for (const [id, status, other] of facts) {
      on.platform.patch(id, { MdmData: { ...(status === null ? {} : { CompromisedStatus: status }), Other: other } });
    }
    for (const id of DEVICES) on.platform.answer(`S-${id}`, answer);
    on.clock.pass(passMs);
    await look(on);
  }
  for (const id of DEVICES) on.platform.answer(`S-${id}`);
  for (let round = 0; round < 4; round += 1) {
    on.clock.pass(QUIET_MS);
    await on.run();
  }
  expect(await on.store.intents({ outcome: 'unknown' })).toEqual([]); // every doubt is confirmed, done or parked
  expect(await verifyChain(on.store.auditFrom(1))).toMatchObject({ ok: true });
  await on.close();
}

async function runAsForetold(on: OnPlatform): Promise<void> {
  const before = on.platform.sent.length;
  const dry = await on.run('dry-run');
  expect(on.platform.sent.length).toBe(before);
  const live = await on.run();
  const acts = ({ decisions }: typeof dry) =>
    decisions
      .filter(({ decision }) => decision === 'act')
      .map(({ rule, action, target }) => `${rule} ${action} ${target}`);
  expect(acts(live).sort()).toEqual(acts(dry).sort());
}

const histories = fc.array(step, { minLength: 2, maxLength: 8 });

describe('whole runs', () => {
  it('call nothing without an audit entry, and each target once for each doubt', () =>
    fc.assert(
      fc.asyncProperty(histories, (steps) =>
        play(steps, async (on) => {
          await on.run();
          const entries = await on.store.audit({ afterSeq: 0, limit: 10_000 });
          const audited = entries
            .filter(({ kind }) => kind === 'intent.sent')
            .map(({ bytes }) => JSON.parse(bytes) as { body: { action: string; target: string } })
            .map(({ body }) => `${body.action.replace('_device', '')} ${body.target}`);
          expect(audited).toEqual(on.platform.sent);
          for (const { attempts, doubtRetries } of await on.store.intents({})) {
            expect(doubtRetries).toBeLessThanOrEqual(1);
            expect(attempts).toBeLessThanOrEqual(4);
          }
        }),
      ),
      { numRuns: 60 },
    ));

  it('do what the dry run before them named, and the dry run itself sends nothing', () =>
    fc.assert(
      fc.asyncProperty(histories, (steps) => play(steps, runAsForetold)),
      { numRuns: 60 },
    ));

  it('do what the dry run before them showed, including an undo that is parked for one of two claims', () =>
    play(
      [
        { facts: [['d3', 'TRUE', 'TRUE']], answer: 'done', passMs: 1_000 }, // a bans
        { facts: [['d3', 'FALSE', 'TRUE']], answer: 'idle', passMs: 1_000 }, // a's undo is in doubt
        { facts: [], answer: 'done', passMs: 60_000 }, // b adopts the ban: a's undo is parked
        { facts: [['d3', 'FALSE', 'FALSE']], answer: 'done', passMs: 1_000 }, // b clears as well
      ],
      runAsForetold,
    ));
});
