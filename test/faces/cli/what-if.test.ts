// commands: `--rules` beside the active set: a what-if shows what other rules would do, and changes nothing.
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Report } from '../../../src/contract/report.ts';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { openDatabase, openReadOnly } from '../../../src/store/sqlite/database.ts';
import { takeWriterLock } from '../../../src/store/sqlite/writer-lock.ts';
import { type Answered, command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';

const TRIED = DISABLE_FAILING.replace('}, 5]', '}, 2]').replace('mode: approve', 'mode: enforce');

let org: Organization;
let tried: string;
let service: string;

beforeEach(async () => {
  org = await startOrganization({
    devices: 40,
    env: { TRUSTWARD_LISTEN: '127.0.0.1:0', TRUSTWARD_SCHEDULE: '0 0 1 1 *' },
  });
  org.console.fleet.addDevice({ serial: 'LOST-1', mdm_compromised: 'TRUE' });
  service = org.console.fleet.addService('payroll', 'eu-1');
  for (let index = 0; index < 3; index += 1)
    org.console.fleet.addEvent({
      type: 'Service',
      subType: 'Access',
      action: 'Denied',
      severity: 'ERROR',
      serviceId: service,
    });
  tried = folder('tried', { service: TRIED });
});
afterEach(() => org.close());

function folder(name: string, rules: Record<string, string>): string {
  const dir = join(org.dir, name);
  mkdirSync(dir);
  for (const [file, text] of Object.entries(rules)) writeFileSync(join(dir, `${file}.yaml`), text);
  return dir;
}

/** Everything in the database, row by row. */
function everything(): Record<string, unknown[]> {
  const db = openReadOnly(org.dbFile);
  const tables = db.all<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  const rows = Object.fromEntries(tables.map(({ name }) => [name, db.all(`SELECT * FROM "${name}"`)]));
  db.close();
  return rows;
}

const reportOf = ({ out }: Answered) => JSON.parse(out) as Report;

describe('a run over other rules, without a daemon', () => {
  beforeEach(() => org.composition.close());

  it('writes nothing but its report, and leaves the waiting plan', async () => {
    const first = reportOf(await command(['plan', '--format', 'json'], org.env));
    const before = everything();
    const what = await command(['run', '--rules', tried, '--mode', 'dry-run', '--format', 'json'], org.env);
    expect(what).toMatchObject({ code: 0, err: '' });
    expect(everything()).toEqual(before);
    expect(reportOf(what)).toMatchObject({
      run: { whatIf: true, mode: 'dry-run', rulesDir: tried, status: 'completed' },
      plan: { id: null },
      rules: [{ id: 'disable-failing-service', match: 1 }],
      decisions: [{ decision: 'act', reason: 'rule_matches', target: service, outcome: 'dry_run' }],
    });
    expect(org.console.writes()).toEqual([]);
    expect(await command(['approve', first.plan.id as string], org.env)).toMatchObject({ code: 0 });
  });

  it('shows what it would do in time, where its matches have not lasted long enough yet', async () => {
    const late = folder('late', { ban: BAN_COMPROMISED.replace('mode: enforce', 'mode: enforce\nfor: 3d') });
    await command(['run', '--mode', 'dry-run'], org.env);
    const { sentence } = reportOf(await command(['plan', '--rules', late, '--format', 'json'], org.env));
    expect(sentence).toBe(
      'If these rules were active, a run would ban 1 device in 3 days if it still matches; nothing was changed.',
    );
  });

  it('why and explain name the made-up organization as reports do', async () => {
    const demo = { TRUSTWARD_DB: join(org.dir, 'demo/demo.db'), TRUSTWARD_RULES: org.rulesDir };
    await command(['run', '--mode', 'dry-run'], demo);
    const listed = JSON.parse((await command(['devices', '--limit', '1', '--format', 'json'], demo)).out);
    const { id } = listed.subjects[0];
    for (const asked of [
      ['why', id],
      ['why', id, '--at', '0s'],
      ['explain', 'ban-compromised-device', id],
    ]) {
      const { out, err } = await command(asked, demo);
      expect(out + err).toMatch(/^DEMO: a made-up organization/);
    }
    expect((await command(['why', 'LOST-1'], org.env)).out).not.toContain('DEMO');
  });

  it('names a text that no device has, and the one that is meant', async () => {
    const by = (platform: string) =>
      BAN_COMPROMISED.replace('{ var: MdmData.CompromisedStatus }, "TRUE"', `{ var: Platform }, ${platform}`)
        .replace('then: ban_device', 'then: notify')
        .replace('revert: true', '')
        .replace('MdmData: { CompromisedStatus: "TRUE" }', `Platform: ${platform}`);
    for (const serial of ['H-1', 'H-2', 'H-3']) org.console.fleet.addDevice({ serial, platform: 'Haiku' });
    const wrong = folder('wrong', { haiku: by('haiku') });
    const report = reportOf(await command(['run', '--rules', wrong, '--format', 'json'], org.env));
    const found = { path: 'Platform', value: 'haiku', meant: 'Haiku', count: 3 };
    expect(report.rules).toMatchObject([{ match: 0, almostValues: [found] }]);
    const words = `compares \`Platform\` with "haiku", which none has. Did you mean "Haiku" (3 have it)?`;
    expect((await command(['run', '--rules', wrong], org.env)).out.replaceAll(/\s+/g, ' ')).toContain(words);
    // Once a run has counted the field, checking the files says the same, and when that was.
    writeFileSync(join(org.rulesDir, 'haiku.yaml'), by('Haiku').replace('ban-compromised-device', 'haiku-devices'));
    await command(['run', '--mode', 'dry-run'], org.env);
    const checked = await command(['rules', 'check', '--rules', wrong], org.env);
    expect(checked.out).toContain(`which none had. Did you mean "Haiku" (3 had it at 20`);
    expect((await command(['rules', 'check'], org.env)).out).not.toContain('Did you mean');
  });

  it('is marked as a what-if in every format', async () => {
    await command(['run', '--mode', 'dry-run'], org.env);
    for (const format of ['text', 'md']) {
      const { out } = await command(['plan', '--rules', tried, '--format', format], org.env);
      expect(out.split('\n')[0]).toMatch(/^(# )?Trustward: WHAT-IF, /);
      expect(out).toContain('a what-if, not stored');
      expect(out).not.toContain('approve');
    }
  });

  it('is refused in a mode that sends something', async () => {
    await command(['run', '--mode', 'dry-run'], org.env);
    const refused = await command(['run', '--rules', tried, '--mode', 'enforce'], org.env);
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toMatch(
      /^trustward: --rules names `\S+` and TRUSTWARD_RULES names `\S+`: .* --mode enforce.*\n$/,
    );
    expect(org.console.writes()).toEqual([]);
  });

  it('uses the same open state as a run', async () => {
    const gentle = folder('gentle', { ban: BAN_COMPROMISED.replace('severity: critical', 'severity: high') });
    await command(['run', '--mode', 'enforce'], org.env);
    org.console.fleet.banByHand('LOST-1', 'FALSE');
    const decided = async () => {
      await command(['run', '--mode', 'dry-run'], org.env);
      return reportOf(await command(['run', '--rules', gentle, '--format', 'json'], org.env)).decisions;
    };
    // The quiet period follows the latency of the API: a slow machine notices the reversal a few runs later.
    const overridden = [{ decision: 'skip', reason: 'overridden', target: 'LOST-1' }];
    await expect.poll(decided, { timeout: 50_000 }).toMatchObject(overridden);
  });

  it('decides the same as a dry run of the same rules', async () => {
    const both = { ban: BAN_COMPROMISED, service: TRIED };
    for (const [file, text] of Object.entries(both)) writeFileSync(join(org.rulesDir, `${file}.yaml`), text);
    const copy = folder('copy', both);
    org.console.fleet.addDevice({ serial: 'LOST-2', mdm_compromised: 'TRUE', banned: 'TRUE' });
    await command(['run', '--mode', 'enforce'], org.env);
    org.console.fleet.addDevice({ serial: 'LOST-3', mdm_compromised: 'TRUE' });
    const said = async (args: string[]) => {
      const { decisions, summary } = reportOf(await command([...args, '--format', 'json'], org.env));
      const lines = decisions.map(({ rule, target, decision, reasonText }) => [rule, target, decision, reasonText]);
      return { lines: lines.sort(), summary };
    };
    const what = await said(['run', '--rules', copy]);
    expect(what.lines).toHaveLength(4);
    expect(await said(['run', '--mode', 'dry-run'])).toEqual(what);
  });

  it('is an ordinary run for an edited folder, another name of the folder, and the first folder ever', async () => {
    const env = { ...org.env, TRUSTWARD_RULES: '' };
    const own = (args: string[]) => command(['run', '--format', 'json', ...args], env).then(reportOf);
    expect((await own(['--rules', org.rulesDir, '--mode', 'enforce'])).run).toMatchObject({ seq: 1, whatIf: false });
    writeFileSync(join(org.rulesDir, 'service.yaml'), DISABLE_FAILING);
    expect((await own(['--rules', `${org.rulesDir}/../rules`])).run).toMatchObject({ seq: 2, whatIf: false });
    expect((await own(['--rules', tried])).run).toMatchObject({ whatIf: true });
    expect((await command(['run'], { ...env, TRUSTWARD_RULES: tried })).code).toBe(0);
    expect((await own(['--rules', org.rulesDir])).run).toMatchObject({ whatIf: true });
  });

  it('refuses chosen rules that only the active set has', async () => {
    await command(['run', '--mode', 'dry-run'], org.env);
    const refused = await command(['run', '--rules', tried, '--rule', 'ban-compromised-device'], org.env);
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('disable-failing-service') });
  });
});

describe('explain, without a daemon', () => {
  beforeEach(() => org.composition.close());

  it('has no recorded decision by other rules, also where the active ones have a rule of the same name', async () => {
    await command(['run', '--mode', 'dry-run'], org.env);
    const asked = ['explain', 'ban-compromised-device', 'LOST-1'];
    const recorded = async (...more: string[]) =>
      JSON.parse((await command([...asked, ...more, '--format', 'json'], org.env)).out).recorded;
    expect(await recorded()).toMatchObject({ decisions: [{ decision: 'act', runSeq: 1 }], differs: false });
    const other = ['--rules', folder('same-name', { ban: BAN_COMPROMISED })];
    const none = 'no run has judged these rules: they are not the active ones';
    expect(await recorded(...other)).toEqual({ decisions: [], none, differs: false });
    expect((await command([...asked, ...other], org.env)).out).toContain(`LAST RUN: ${none}`);
  });

  it('works beside another command that writes', async () => {
    await command(['run', '--mode', 'dry-run'], org.env);
    const lock = takeWriterLock(org.dbFile);
    const before = everything();
    const explained = await command(['explain', 'ban-compromised-device', 'LOST-1'], org.env);
    lock.release();
    expect(explained).toMatchObject({ code: 0, err: '' });
    expect(explained.out).not.toContain('what-if');
    expect(everything()).toEqual(before);
  });

  it('over a database of an older version is refused, and the migrating command is named', async () => {
    await command(['run', '--mode', 'dry-run'], org.env);
    const db = openDatabase(org.dbFile);
    const { user_version: tables } = db.get('PRAGMA user_version') as { user_version: number };
    db.exec(`PRAGMA user_version = ${tables - 1}`);
    db.close();
    const { code, out, err } = await command(['explain', 'ban-compromised-device', 'LOST-1'], org.env);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^trustward: database `\S+` was written by an older version .*`trustward plan` .*\n$/);
  });

  it('makes no database', async () => {
    rmSync(org.dbFile);
    const explained = await command(['explain', 'ban-compromised-device', 'LOST-1'], org.env);
    expect(explained).toMatchObject({ code: 1, err: expect.stringContaining('run `trustward run` first') });
    expect(existsSync(org.dbFile)).toBe(false);
  });
});

describe('other rules, while a daemon runs', () => {
  let daemon: Daemon;
  beforeEach(async () => {
    daemon = await startDaemon(org.composition);
    expect((await command(['run', '--mode', 'dry-run'], org.env)).code).toBe(0); // in turn, after the first one
  });
  afterEach(() => daemon.stop());

  it('are used for a what-if that does not disturb the daemon', async () => {
    const before = everything();
    const what = reportOf(await command(['run', '--rules', tried, '--format', 'json'], org.env));
    expect(what).toMatchObject({ run: { whatIf: true }, rules: [{ id: 'disable-failing-service' }] });
    expect(everything()).toEqual(before);
    const through = reportOf(await command(['run', '--rules', org.rulesDir, '--format', 'json'], org.env));
    expect(through.run).toMatchObject({ whatIf: false, rulesDir: org.rulesDir, seq: 3 });
  });

  it('give way to the active ones where explain is asked without them, with the recorded decision', async () => {
    const asked = ['explain', 'ban-compromised-device', 'LOST-1'];
    const json = JSON.parse((await command([...asked, '--format', 'json'], org.env)).out);
    expect(json).toMatchObject({ basis: { run: { seq: 2 } }, recorded: { decisions: [{ target: 'LOST-1' }] } });
    expect((await command(asked, org.env)).out).toContain('LAST RUN of this rule: run 2');
  });

  it('are used by explain', async () => {
    const explained = await command(['explain', 'disable-failing-service', service, '--rules', tried], org.env);
    expect(explained).toMatchObject({ code: 0, err: '' });
    expect(explained.out).toContain('disable-failing-service (Disable a service after repeated errors) matches');
    expect(explained.out).toContain(`what-if: by the rules in \`${tried}\`, not the active ones`);
    expect((await command(['explain', 'disable-failing-service', service], org.env)).code).toBe(1);
  });

  it.each([
    ['apply', 'any'],
    ['approve', 'any'],
    ['reject', 'any'],
  ])('are refused when a plan is answered: %s %s', async (...args) => {
    const before = everything();
    const refused = await command([...args, '--rules', tried], org.env);
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toBe(
      `trustward: the daemon has the rules in \`${org.rulesDir}\`, not in \`${tried}\`, and would use its own: leave out --rules, or stop the daemon first\n`,
    );
    expect(everything()).toEqual(before);
    expect((await command([...args, '--rules', org.rulesDir], org.env)).err).not.toContain('leave out --rules');
  });

  it('do not block a stop, or any other command that judges no rule', async () => {
    const other = ['--rules', tried, '--reason', 'known'];
    const said = async (...args: string[]) => (await command([...args, ...other], org.env)).code;
    expect(await said('stop')).toBe(0);
    expect(await org.composition.engine.store.stop()).toMatchObject({ reason: 'known' });
    expect(await said('exempt', 'add', 'device', 'LOST-1', '--unseen', '--owner', 'ana', '--until', '2099-01-01')).toBe(
      0,
    );
    expect(await org.composition.engine.store.exemptions()).toHaveLength(1);
    expect(await said('resume')).toBe(0);
    expect(await org.composition.engine.store.stop()).toBeUndefined();
  });

  it.each([
    ['--api-url', 'no address'],
    ['--rules', '/nowhere'],
  ])('that are invalid do not block a stop: %s %s', async (...wrong) => {
    const env = { ...org.env, TRUSTWARD_MODE: 'nonsense' };
    const heard = await command(['stop', '--reason', 'now', '--db', org.dbFile, ...wrong], env);
    expect(heard).toMatchObject({ code: 0, err: '' });
    expect(await org.composition.engine.store.stop()).toMatchObject({ reason: 'now' });
  });

  it('in a copy of the folder count as other rules', async () => {
    const copy = join(org.dir, 'copy');
    cpSync(org.rulesDir, copy, { recursive: true });
    const { run } = reportOf(await command(['run', '--rules', copy, '--format', 'json'], org.env));
    expect(run).toMatchObject({ whatIf: true, rulesDir: copy });
  });
});
