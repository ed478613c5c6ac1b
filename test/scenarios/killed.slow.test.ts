// scenario: the process is killed (kill -9) around the call: after a restart each device is banned once, and the audit
// shows it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../src/console/faults/interception.ts';
import { verifyChain } from '../../src/engine/audit/signing-key.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { built } from '../support/built.ts';
import { type Organization, startOrganization } from '../support/organization.ts';

const MAIN = built('src/main.ts');
const BEFORE_CALL = built('test/scenarios/kill-before-call.ts');
const LATER = built('test/scenarios/later.ts');
/** A call that was under way counts as one without an answer: the quiet period is then six times the timeout. */
const QUIET_MS = 61_000;
const IN_COMMIT = built('test/scenarios/kill-in-commit.ts');
const SERIALS = ['KILL-1', 'KILL-2', 'KILL-3'];

let org: Organization;
let ids: string[];

beforeEach(async () => {
  const env = {
    TRUSTWARD_QUIET_PERIOD: '100ms',
    TRUSTWARD_REQUEST_TIMEOUT: '10s',
    TRUSTWARD_ACT_CONCURRENCY: '1', // what was before the kill is known; killed-at-once.slow.test.ts has several
  };
  org = await startOrganization({ devices: 60, env });
  // Targets are acted on in the order of their ids.
  ids = SERIALS.map((serial, at) =>
    org.console.fleet.addDevice({
      serial,
      device_id: `00000000-0000-4000-8000-00000000000${at}`,
      mdm_compromised: 'TRUE',
    }),
  );
  await org.composition.close(); // the engine runs in a separate process here
});
afterEach(() => org.close());

function startRun(laterMs = 0): ChildProcess {
  const args = ['--import', LATER, MAIN, 'run', '--mode', 'enforce', '--format', 'json'];
  const env = { ...process.env, ...org.env, LATER_MS: String(laterMs) };
  return spawn(process.execPath, args, { env, stdio: 'ignore' });
}

/** Starts a run, kills it with SIGKILL once `isThere` holds, and waits until it is gone. */
async function killWhen(fault: FaultInput, isThere: () => boolean): Promise<void> {
  org.console.faults?.set([fault]);
  const child = startRun();
  const exited = once(child, 'exit');
  while (!isThere() && child.exitCode === null) await systemClock.sleep(5);
  expect(child.exitCode).toBeNull();
  child.kill('SIGKILL');
  await exited;
  org.console.faults?.clear();
}

/** Starts a run that kills itself where the seam does, for this target. */
async function killAt(seam: string, target: string): Promise<void> {
  const args = ['--import', seam, MAIN, 'run', '--mode', 'enforce'];
  const env = { ...process.env, ...org.env, KILL_BEFORE: target };
  const [, signal] = await once(spawn(process.execPath, args, { env, stdio: 'ignore' }), 'exit');
  expect(signal).toBe('SIGKILL');
}

/** Runs after the quiet period, until nothing is in doubt. */
async function restartAndSettle(): Promise<void> {
  for (const round of [1, 2]) await once(startRun(round * QUIET_MS), 'exit');
}

async function auditOf(target: string): Promise<string[]> {
  await org.restart();
  const { store } = org.composition.engine;
  const lines: string[] = [];
  for await (const batch of store.auditFrom(1)) {
    for (const entry of batch) {
      const { body } = JSON.parse(entry.bytes) as { body: { target?: string; outcome?: string } };
      if (body.target === target && entry.kind.startsWith('intent.'))
        lines.push(`${entry.kind} ${body.outcome ?? ''}`.trim());
    }
  }
  expect(await verifyChain(store.auditFrom(1))).toMatchObject({ ok: true });
  return lines;
}

const READ_BACK = '^/api/v1/devices\\?.*[Ss]erial[Nn]umber=KILL-2';
const BAN = '^/api/v1/mdm/update_device\\?.*KILL-2';

describe('a process that is killed around its call', { timeout: 300_000 }, () => {
  it('before its intent is committed: nothing is kept or called, and the next run derives it again', async () => {
    await killAt(IN_COMMIT, 'KILL-2');
    expect(org.console.writes()).toEqual([]);
    expect(await auditOf('KILL-1')).toEqual([]);
    const { store } = org.composition.engine;
    expect(await store.openState(systemClock.nowMs())).toMatchObject({ episodes: [], intents: [], claims: [] });
    await org.composition.close();
    await restartAndSettle();
    expect(org.effects('device_banned').sort()).toEqual([...ids].sort());
    expect(org.console.writes()).toHaveLength(3);
    expect(await auditOf('KILL-2')).toEqual(['intent.planned', 'intent.sent', 'intent.settled succeeded']);
  });

  it('between intent and call: nothing was called, and the next run bans each device once', async () => {
    const reached = () => org.console.faults?.status().some((status) => status.fired > 0) ?? false;
    await killWhen({ kind: 'latency', match: { path: READ_BACK }, ms: 60_000 }, reached);
    expect(org.effects('device_banned')).toEqual([ids[0]]);
    await restartAndSettle();
    expect(org.effects('device_banned').sort()).toEqual([...ids].sort());
    expect(org.console.writes()).toHaveLength(3);
    expect(await auditOf('KILL-2')).toEqual([
      'intent.planned',
      'intent.withdrawn',
      'intent.planned',
      'intent.sent',
      'intent.settled succeeded',
    ]);
  });

  it('between commit and call: the request never arrived, so it is read back twice and sent once', async () => {
    await killAt(BEFORE_CALL, 'KILL-2');
    expect(org.effects('device_banned')).toEqual([ids[0]]);
    await restartAndSettle();
    expect(org.effects('device_banned').sort()).toEqual([...ids].sort());
    expect(org.console.writes()).toHaveLength(3);
    expect(await auditOf('KILL-2')).toEqual([
      'intent.planned',
      'intent.sent',
      'intent.settled unknown',
      'intent.sent',
      'intent.settled succeeded',
    ]);
  });

  it('between call and outcome: it is found done by reading back, and never sent again', async () => {
    const banned = () => org.effects('device_banned').includes(ids[1] as string);
    await killWhen({ kind: 'late_effect', match: { method: 'POST', path: BAN }, ms: 50, answer: 'silence' }, banned);
    await restartAndSettle();
    expect(org.effects('device_banned').sort()).toEqual([...ids].sort());
    expect(org.console.writes().filter((write) => write.address.includes('KILL-2'))).toHaveLength(1);
    expect(await auditOf('KILL-2')).toEqual([
      'intent.planned',
      'intent.sent',
      'intent.settled unknown',
      'intent.settled confirmed',
    ]);
  });
});
