// scenario: the process is killed (kill -9) while several calls are under way, and around the commit of several outcomes: after a restart
// each device is banned once, and the audit shows it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { built } from '../support/built.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

const MAIN = built('src/main.ts');
const BEFORE_CALL = built('test/scenarios/kill-before-call.ts');
const LATER = built('test/scenarios/later.ts');
/** A call that was under way counts as one without an answer: the quiet period is then six times the timeout. */
const QUIET_MS = 61_000;
const IN_GROUP = built('test/scenarios/kill-in-group.ts');
const SERIALS = Array.from({ length: 12 }, (_, index) => `KILL-${index + 10}`);

let org: Organization;
let ids: string[];

beforeEach(async () => {
  const env = { TRUSTWARD_QUIET_PERIOD: '100ms', TRUSTWARD_REQUEST_TIMEOUT: '10s' };
  const rules = { ban: BAN_COMPROMISED.replace('revert: true', 'revert: true\nlimits: { max: 100, percent: 100 }') };
  org = await startOrganization({ devices: 60, rules, env });
  ids = SERIALS.map((serial) => org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }));
  await org.composition.close(); // the engine runs in a separate process here
});
afterEach(() => org.close());

async function killed(seam: string, env: Record<string, string>): Promise<void> {
  const args = ['--import', seam, MAIN, 'run', '--mode', 'enforce'];
  const child = spawn(process.execPath, args, { env: { ...process.env, ...org.env, ...env }, stdio: 'ignore' });
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
}

/** Runs after the quiet period, until nothing is in doubt. */
async function restartAndSettle(): Promise<void> {
  const args = ['--import', LATER, MAIN, 'run', '--mode', 'enforce', '--format', 'json'];
  for (const round of [1, 2]) {
    const env = { ...process.env, ...org.env, LATER_MS: String(round * QUIET_MS) };
    await once(spawn(process.execPath, args, { env, stdio: 'ignore' }), 'exit');
  }
}

async function expectEachOnce(): Promise<void> {
  await restartAndSettle();
  expect(org.effects('device_banned').sort()).toEqual([...ids].sort());
  expect(org.console.writes()).toHaveLength(SERIALS.length);
  await org.restart();
  const { store } = org.composition.engine;
  expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true });
  await store.demandIntact();
  const open = (await store.intents({})).filter(({ status, outcome }) => status !== 'settled' || outcome === 'unknown');
  expect(open.filter(({ status }) => status !== 'withdrawn')).toEqual([]);
}

describe('a process that is killed while several calls are under way', { timeout: 300_000 }, () => {
  it('before one of them: those around it are found done or sent once, and none twice', async () => {
    await killed(BEFORE_CALL, { KILL_BEFORE: 'KILL-15' });
    await expectEachOnce();
  });

  it.each(['within', 'after'])('%s the commit of several outcomes: each device is banned once', async (when) => {
    await killed(IN_GROUP, { KILL_AFTER_OUTCOMES: '5', KILL_GROUP: when });
    await expectEachOnce();
  });
});
