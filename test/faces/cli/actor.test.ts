// commands: who did it: every command names the user of the operating system, with a daemon and without one.
import { userInfo } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

const USER = userInfo().username;
let org: Organization;
let daemon: Daemon | undefined;

beforeEach(async () => {
  org = await startOrganization({
    devices: 20,
    compromised: 1,
    rules: { ban: BAN_COMPROMISED.replace('mode: enforce', 'mode: approve') },
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
  });
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await org.close();
});

const ran = async (...args: string[]) => {
  const answered = await command(args, org.env);
  expect(answered.err).not.toContain('trustward:');
  return answered.out;
};

/** Who did it, by kind of entry, of those that a command wrote. */
async function actors(...kinds: string[]) {
  const found: Record<string, unknown> = {};
  for (const kind of kinds) {
    const entries = await org.composition.engine.store.audit({ kind, limit: 10 });
    const bodies = entries.map(({ bytes }) => JSON.parse(bytes).body);
    found[kind] = bodies.find(({ trigger }) => trigger !== 'schedule')?.by;
  }
  return found;
}

const KINDS = ['run.started', 'stop.set', 'stop.lifted', 'exemption.added', 'plan.approved', 'token.added'];

async function doEverything() {
  await ran('stop', '--reason', 'x');
  await ran('resume', '--reason', 'x');
  const until = ['--owner', 'Ana', '--reason', 'x', '--until', '1d'];
  await ran('exempt', 'add', '--selector', 'Name=BeOS', ...until);
  await ran('tokens', 'add', 'ci', '--scope', 'read');
  const { plan } = JSON.parse(await ran('plan', '--format', 'json'));
  await ran('approve', plan.id);
  return plan.id as string;
}

describe('each command is recorded with the user of the operating system', () => {
  it('without a daemon, as `user (command line)`', async () => {
    await org.composition.close();
    const plan = await doEverything();
    await ran('audit', 'new-key', '--reason', 'x');
    await org.restart();
    const by = `${USER} (command line)`;
    expect(await actors(...KINDS, 'audit.key_replaced')).toEqual(
      Object.fromEntries([...KINDS, 'audit.key_replaced'].map((kind) => [kind, by])),
    );
    expect(await org.composition.engine.store.plan(plan)).toMatchObject({ decidedBy: by });
  });

  it('through a daemon, together with the token that was used', async () => {
    daemon = await startDaemon(org.composition);
    await doEverything();
    expect(await actors(...KINDS)).toEqual(Object.fromEntries(KINDS.map((kind) => [kind, `${USER} (token admin)`])));
  });

  it('but a token of less than scope `admin` is recorded by its own name', async () => {
    daemon = await startDaemon(org.composition);
    const token = (await ran('tokens', 'add', 'ci', '--scope', 'approve')).trim();
    await command(['stop', '--reason', 'x'], { ...org.env, TRUSTWARD_TOKEN: token });
    expect(await actors('stop.set')).toEqual({ 'stop.set': 'ci' });
  });
});
