// scenario: what is held and what waits for nobody: a change window, a trial rule, an older report, calls that the API refuses.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReportFormat } from '../../src/domain/replay.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { whyOf } from '../../src/engine/explain/why.ts';
import { applyPlan, approvePart } from '../../src/engine/operate/plans.ts';
import { writeReport } from '../../src/faces/report/index.ts';
import { changeWindowText } from '../../src/faces/report/plan-view.ts';
import { buildSummary } from '../../src/faces/report/summary/build.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { parseRule } from '../../src/rules/load/read-rule.ts';
import { readSchedule } from '../../src/runtime/config/config.ts';
import { flapAlerts } from '../../src/runtime/notify/alerts.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { ROOT } from '../support/built.ts';
import { type OnPlatform, startOnPlatform } from '../support/engine-on-platform.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../support/organization.ts';

describe('a change window over a real console', () => {
  const HOUR = 3_600_000;
  let org: Organization;
  /** How far the engine's clock is ahead. */
  let aheadMs: number;
  let ids: string[];

  const wall = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

  beforeEach(async () => {
    const now = systemClock.nowMs();
    aheadMs = 0;
    org = await startOrganization({
      devices: 60,
      env: { TRUSTWARD_FREEZE: `${wall(now - HOUR)}-${wall(now + HOUR)} UTC`, TRUSTWARD_ACT_CONCURRENCY: '1' },
    });
    Object.assign(org.composition.engine, {
      clock: { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs },
    });
    ids = ['COLD-1', 'COLD-2', 'COLD-3'].map((serial) =>
      org.console.fleet.addDevice({ serial, mdm_compromised: 'TRUE' }),
    );
  });
  afterEach(() => org.close());

  it('holds, shows itself everywhere, lets one plan through, undoes, and acts on the rest when it is over', async () => {
    const { engine } = org.composition;
    const held = await org.run('enforce');
    expect(
      held
        .of('hold', 'frozen')
        .map(({ target }) => target)
        .sort(),
    ).toEqual(['COLD-1', 'COLD-2', 'COLD-3']);
    expect(org.console.writes()).toEqual([]);

    const shown = async (format: ReportFormat) => {
      let text = '';
      for await (const chunk of writeReport(engine.store, held.run, format)) text += chunk;
      return text.replaceAll(/\s+/g, ' ');
    };
    expect(await shown('text')).toMatch(/CHANGE WINDOW \(.* UTC\) until \w{3} .* UTC .*: 3 actions wait for its end\./);
    expect(await shown('text')).toContain('WAITS UNTIL THE CHANGE WINDOW ENDS (3)');
    const glass = `trustward approve ${held.run.planId} --break-glass --reason TEXT`;
    expect(await shown('text')).toContain(`\`${glass}\` lets all of that plan be applied before the window ends.`);
    expect(await shown('md')).toContain('## Waits until the change window ends (3)');
    expect(await shown('html')).toContain('3 actions wait for its end');
    expect(JSON.parse(await shown('json')).operator.changeWindow).toMatchObject({
      held: 3,
      endsAt: expect.any(String),
    });
    expect(await shown('csv')).toContain('frozen');

    const windows = readSchedule(org.env).windows;
    const now = engine.clock.nowMs();
    const summary = await buildSummary(engine.store, now - HOUR, now, windows);
    expect(summary.changeWindow).toBe(changeWindowText(windows, now, 3));
    expect(summary.changeWindow).toMatch(/^the change window .* is in force until .*; 3 actions wait for its end$/);
    const why = await whyOf(org.composition.explaining(), 'COLD-1');
    expect(why.next).toContainEqual(
      expect.stringMatching(/^ban-compromised-device: ban_device COLD-1 waits: the change window/),
    );

    expect(why.commands).toContainEqual({
      purpose: 'do only this now, through the change window',
      command: expect.stringMatching(
        new RegExp(
          `^trustward approve ${held.run.planId} --digest [0-9a-f]{16} --only COLD-1 --break-glass --reason TEXT$`,
        ),
      ),
    });

    const only = { rules: [], only: ['COLD-1'], except: [] };
    const { plan } = await approvePart(engine, held.run.planId ?? '', only, { by: 'ada', reason: 'an outbreak' }, true);
    expect((await applyPlan(engine, plan.id, { by: 'ada' })).plan.status).toBe('applied');
    expect(org.effects('device_banned')).toEqual([ids[0]]);
    const after = await whyOf(org.composition.explaining(), 'COLD-1');
    expect(after.states[0]?.last?.breakGlass).toMatchObject({ by: 'ada', reason: 'an outbreak' });
    const deeds = (await buildSummary(engine.store, now - HOUR, now + HOUR, windows)).people.some;
    expect(deeds.map(({ by, text, reason }) => [by, text, reason])).toContainEqual([
      'ada',
      'BROKE THE GLASS: let the plan “Ban 1 device” through the change windows',
      'an outbreak',
    ]);

    org.console.fleet.patchDevice(ids[0] as string, { mdm_compromised: 'FALSE' });
    await org.run('enforce');
    expect(org.effects('device_unbanned')).toEqual([ids[0]]);
    expect(org.effects('device_banned')).toEqual([ids[0]]);

    org.console.fleet.patchDevice(ids[1] as string, { mdm_compromised: 'FALSE' });
    aheadMs = 2 * HOUR;
    await org.run('enforce');
    await org.run('enforce');
    expect(org.effects('device_banned')).toEqual([ids[0], ids[2]]);
  });

  it('a broken glass counts when a checkpoint covers it, which it does in the same transaction', async () => {
    const { store } = org.composition.engine;
    const plan = await store.plan((await org.run('enforce')).run.planId ?? '');
    if (!plan) throw new Error('the run held nothing');
    const note = { kind: 'plan.glass_broken', body: { plan: plan.id, digest: plan.digest } } as const;
    await store.appendAudit([note]); // as somebody appends it who can write the file, and has no key
    expect(await store.auditedDigest('plan.glass_broken', plan.id)).toBeUndefined();
    const breakGlass = { at: 0, by: 'ada', reason: 'an outbreak' };
    await store.changePlan({ ...plan, status: 'interrupted', breakGlass }, [], [note]);
    expect(await store.auditedDigest('plan.glass_broken', plan.id)).toBe(plan.digest);
  });
});

describe('a rule of mode dry-run that would be held', () => {
  let org: Organization;

  beforeEach(async () => {
    const ban = BAN_COMPROMISED.replace('mode: enforce', 'mode: dry-run\nlimits: { max: 2, percent: 100 }');
    org = await startOrganization({ devices: 60, compromised: 5, rules: { ban } });
  });
  afterEach(() => org.close());

  it.each(['dry-run', 'enforce'])('beyond its limits is only reported by a run of mode %s', async (mode) => {
    await org.composition.close();
    const { code, out } = await command(['run', '--mode', mode, '--format', 'json'], org.env);
    expect(code).toBe(0);
    const { summary, plan, decisions } = JSON.parse(out);
    expect(summary).toMatchObject({ act: 5, hold: 0, dry_run: 5 });
    expect(plan).toMatchObject({ id: null, intents: 0 });
    expect(decisions[0]).toMatchObject({ decision: 'act', reason: 'limits', outcome: 'dry_run' });
    expect(decisions[0].reasonText).toBe("it would wait: 5 targets at once cross the rule's limit (max 2)");
    const text = (await command(['report'], org.env)).out.replaceAll(/\s+/g, ' ');
    expect(text).toContain('5 matches of rules in mode dry-run are only reported; 5 would wait if the rule were live.');
    expect(text).not.toContain('for a yes');
  });
});

describe('the shipped rule on the console, with time of our own', () => {
  const MINUTE = 60_000;
  const FILE = 'ban-compromised-device.yaml';

  let on: OnPlatform;
  /** When MDM reported it compromised. */
  let reportedMs: number;

  beforeEach(async () => {
    const parsed = parseRule(readFileSync(join(ROOT, 'rules', FILE), 'utf8'), FILE, { traits: ACTIONS });
    on = startOnPlatform({ rules: [(parsed as { rule: LoadedRule }).rule] });
    for (let number = 1; number <= 60; number += 1) on.platform.addDevice(`d${number}`);
    await on.run();
    reportedMs = on.clock.nowMs() - 10 * MINUTE;
    await later(5, 'TRUE', reportedMs);
    expect(isBanned()).toBe(true);
  });
  afterEach(() => on.close());

  const isBanned = () => on.platform.isBanned('S-d1');

  /** A run so many minutes later, which reads this report of MDM. */
  async function later(minutes: number, CompromisedStatus: 'TRUE' | 'FALSE', Timestamp: number) {
    on.clock.pass(minutes * MINUTE);
    on.platform.patch('d1', { MdmData: { CompromisedStatus, Timestamp } });
    return on.run();
  }

  it('a flag that flips for one run frees nobody', async () => {
    await later(5, 'FALSE', reportedMs);
    await later(5, 'TRUE', reportedMs);
    await later(60, 'TRUE', reportedMs);
    expect(on.platform.sent).toEqual(['ban S-d1']);
  });

  it('an older report frees nobody, however long it is sent, and the decision names it', async () => {
    for (let run = 0; run < 12; run += 1) {
      const { decisions } = await later(10, 'FALSE', reportedMs - MINUTE);
      expect(decisions).toMatchObject([{ action: 'unban_device', decision: 'skip', reason: 'older_report' }]);
    }
    expect(isBanned()).toBe(true);
  });

  it('a newer clean report frees after half an hour, and not before', async () => {
    await later(5, 'FALSE', reportedMs + MINUTE);
    await later(29, 'FALSE', reportedMs + MINUTE);
    expect(isBanned()).toBe(true);
    await later(1, 'FALSE', reportedMs + MINUTE);
    expect(isBanned()).toBe(false);
  });

  it('one who is compromised again after our undo is banned at once, and a person is alerted once', async () => {
    await later(5, 'FALSE', reportedMs + MINUTE);
    await later(30, 'FALSE', reportedMs + MINUTE);
    expect(isBanned()).toBe(false);
    const { decisions } = await later(5, 'TRUE', reportedMs + 2 * MINUTE);
    expect(isBanned()).toBe(true);
    expect(decisions).toMatchObject([{ decision: 'act', reason: 'matches_again', outcome: 'succeeded' }]);
    await later(5, 'TRUE', reportedMs + 2 * MINUTE);
    const alerts = () => flapAlerts(on.store, on.clock.nowMs() - 24 * 60 * MINUTE);
    expect(await alerts()).toMatchObject([{ code: 'flap', key: 'flap ban_device S-d1' }]);
    on.clock.pass(25 * 60 * MINUTE);
    expect(await alerts()).toEqual([]);
  });
});

describe('the API refuses calls (403) although it answers reads', () => {
  let org: Organization;

  beforeEach(async () => {
    const ban = BAN_COMPROMISED.replace('cooldown: 0s', 'cooldown: 6h');
    org = await startOrganization({ devices: 60, compromised: 1, rules: { ban } });
    org.console.faults?.set([{ kind: 'error', status: 403, match: { method: 'POST' } }]);
    await org.composition.close();
  });
  afterEach(() => org.close());

  const run = () => command(['run', '--mode', 'enforce'], org.env);

  it('a refused ban is listed, a warning of the doctor, and done by the next run that the API accepts', async () => {
    expect(await run()).toMatchObject({ code: 3 });
    const listed = await command(['intents', 'list', '--format', 'json'], org.env);
    expect(JSON.parse(listed.out).intents).toMatchObject([
      {
        action: 'ban_device',
        outcome: 'failed',
        attempts: 0,
        refusals: 1,
        note: expect.stringContaining('status 403'),
      },
    ]);
    const doctor = await command(['doctor'], org.env);
    expect(doctor.out).toMatch(/warning +inbox +1 action was refused by the server/);
    org.console.faults?.clear();
    expect(await run()).toMatchObject({ code: 0 });
    expect(org.effects('device_banned')).toHaveLength(1);
    expect((await command(['inbox'], org.env)).out).toBe('Nothing waits for a person.\n');
    expect((await command(['doctor'], org.env)).out).not.toContain(' inbox ');
  });

  it('a ban that is refused again and again ends its runs with 3, waits, and is tried at once when a person says so', async () => {
    await run();
    await run();
    const waiting = await run();
    expect(waiting.code).toBe(3);
    expect(waiting.out).toContain('the server refused it 2 times in a row,');
    org.console.faults?.clear();
    expect((await run()).code).toBe(3);
    expect(org.effects('device_banned')).toEqual([]);
    const { intents } = JSON.parse((await command(['intents', 'list', '--format', 'json'], org.env)).out);
    const resolved = ['intents', 'resolve', intents[0].id, '--as', 'retry', '--reason', 'the role was corrected'];
    expect(await command(resolved, org.env)).toMatchObject({ code: 0 });
    await run();
    expect(org.effects('device_banned')).toHaveLength(1);
    expect((await run()).code).toBe(0);
  });

  it('another API key is tried at once', async () => {
    for (let runs = 0; runs < 3; runs += 1) await run();
    org.console.faults?.clear();
    const secret = org.console.issueApiKey('the next one', 'Admin');
    const other = await command(['run', '--mode', 'enforce'], { ...org.env, TRUSTWARD_API_KEY: secret });
    expect(other.code).toBe(0);
    expect(org.effects('device_banned')).toHaveLength(1);
  });
});
