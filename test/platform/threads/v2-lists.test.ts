// test: v2 lists of a large fleet, read and judged by other threads, against the same read by the main thread alone: a real console, real
// threads. Both give the same verdicts, facts, owners and identities.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { RunRecord } from '../../../src/domain/store.ts';
import { runCycle } from '../../../src/engine/cycle.ts';
import type { Engine } from '../../../src/engine/run/engine.ts';
import { type Organization, startOrganization } from '../../support/organization.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const DEVICES = 5_200;

function rule(id: string, when: unknown): string {
  const tests = [{ name: 'a sample', given: {}, expect: 'no_match' }];
  const limits = { max: 100_000, percent: 100 };
  return JSON.stringify({
    id,
    severity: 'low',
    subject: 'device',
    when,
    then: 'ban_device',
    mode: 'enforce',
    limits,
    tests,
  });
}

const RULES = {
  low: rule('low', { '==': [{ var: 'TrustData.Level' }, 'Low'] }),
  mdm: rule('mdm', { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] }),
  idle: rule('idle', { '>': [{ age: { var: 'LastLogin' } }, '20d'] }),
  unset: rule('unset', { '!!': [{ missing: ['MdmData.Timestamp'] }] }),
  owned: rule('owned', { some: [{ var: '$owners' }, { starts_with: [{ var: 'Name' }, 'A'] }] }),
};

let org: Organization;
beforeAll(async () => {
  org = await startOrganization({ devices: DEVICES, rules: RULES, env: { TRUSTWARD_API_LISTS: 'v2' } });
});
afterAll(() => org.close());

async function runOf(engine: Engine) {
  const { id } = await runCycle(engine, {
    mode: 'dry-run',
    trigger: 'command',
    rules: undefined,
    waitForDoubts: false,
  });
  const run = (await engine.store.run(id)) as RunRecord;
  const decisions = await engine.store.decisionsOfRun(run);
  const decided = decisions.map(({ rule, subject, target, facts, effect, decision, reason }) => ({
    rule,
    subject,
    target,
    facts,
    effect,
    decision,
    reason,
  }));
  const { state, form, lists, count, trusted } = (run.findings as NonNullable<RunRecord['findings']>).snapshot.sources
    .devices;
  return { devices: { state, form, lists, count, trusted }, tallies: run.findings?.tallies, decided };
}

describe('v2 lists of 5,200 devices', () => {
  it('give in other threads what the main thread alone finds', async () => {
    const { engine } = org.composition;
    const pieces = vi.spyOn(engine.api as Required<Engine['api']>, 'inPieces');
    const alone = await runOf({ ...engine, readers: undefined });
    expect(pieces).not.toHaveBeenCalled();
    const threads = await runOf(engine);
    expect(pieces).toHaveBeenCalledOnce();
    expect(threads).toEqual(alone);
    expect(threads.devices).toEqual({ state: 'read', form: 'paged', lists: 'v2', count: DEVICES, trusted: true });
    const verdicts = threads.tallies?.map(({ rule, match, unknown }) => [rule, match > 0, unknown === DEVICES]).sort();
    expect(verdicts).toEqual([
      ['idle', true, false],
      ['low', true, false],
      ['mdm', false, true],
      ['owned', true, false],
      ['unset', false, true],
    ]);
    expect(threads.decided.length).toBeGreaterThan(100);
  });
});
