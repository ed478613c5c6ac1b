// rules: signed rules: a set is used only if a signature of somebody who may sign covers all that was read; every way around it that was thought of.
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { asPerson } from '../../src/domain/actor.ts';
import { type Approvals, missingFor, whyNoYes, type Yes } from '../../src/domain/approvals.ts';
import { type AuditEntry, entryBody } from '../../src/domain/audit-entry.ts';
import { lineOf } from '../../src/domain/errors.ts';
import { guardsOf } from '../../src/domain/guards.ts';
import { ACTIONS } from '../../src/engine/act/actions.ts';
import { rulesChecks } from '../../src/faces/cli/doctor/database.ts';
import { loadRuleFolder, RuleHolder, watchFolders } from '../../src/rules/active/rule-holder.ts';
import { filesOf } from '../../src/rules/load/guards-file.ts';
import { parseRuleSet } from '../../src/rules/load/read-rule.ts';
import { systemClock } from '../../src/runtime/system/clock.ts';
import { alertsOf } from '../support/alerts-of.ts';
import { startOnPlatform } from '../support/engine-on-platform.ts';
import { command } from '../support/in-process.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, silentLog, startOrganization } from '../support/organization.ts';
import { pagesOnPlatform } from '../support/pages-on-platform.ts';

const KINDS = [
  ['ed25519', []],
  ['ecdsa', ['-b', '256']],
  ['rsa', ['-b', '2048']],
] as const;
let [keys, dir, rules, signers] = ['', '', '', ''];
const lineOfKey = (name: string) =>
  readFileSync(join(keys, `${name}.pub`), 'utf8')
    .split(' ')
    .slice(0, 2)
    .join(' ');
const inRules = (name: string) => join(rules, name);
const allow = (...lines: string[]) => writeFileSync(signers, `# who may\n${lines.join('\n')}\n`);
const sign = async (key = 'ed25519', folder = rules) => {
  const { code, err } = await command(['rules', 'sign', '--key', join(keys, key), '--rules', folder], {});
  expect({ code, err }).toEqual({ code: 0, err: '' });
};
const load = (folders = rules) => loadRuleFolder(folders, ACTIONS, { signers });
const whoSigned = async (folders?: string) => guardsOf((await load(folders)).rules)?.signedBy;
const refusal = async (folders?: string) => load(folders).then(() => 'in order', lineOf);

const hasKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined;

beforeAll(() => {
  if (!hasKeygen) return;
  keys = mkdtempSync(join(tmpdir(), 'trustward-keys-'));
  for (const [kind, more] of KINDS)
    execFileSync('ssh-keygen', ['-q', '-t', kind, ...more, '-N', '', '-C', '', '-f', join(keys, kind)]);
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(join(keys, 'plain'), privateKey.export({ format: 'pem', type: 'pkcs8' }));
});
afterAll(() => hasKeygen && rmSync(keys, { recursive: true, force: true }));

beforeEach(async (context) => {
  context.skip(!hasKeygen, '`ssh-keygen` is not installed');
  dir = mkdtempSync(join(tmpdir(), 'trustward-signed-'));
  [rules, signers] = [join(dir, 'rules'), join(dir, 'signers')];
  mkdirSync(inRules('lists'), { recursive: true });
  writeFileSync(inRules('ban.yaml'), BAN_COMPROMISED);
  writeFileSync(inRules('lists/spare.yaml'), 'entries: [C1]');
  writeFileSync(inRules('guards.yaml'), 'last_device: ask');
  writeFileSync(inRules('approvals.yaml'), 'approvals: [{ people: 2 }]');
  allow(
    `alice@example.com ${lineOfKey('ed25519')}`,
    `Bob@Example.com namespaces="git,trustward-rules" ${lineOfKey('rsa')} bob`,
  );
  await sign();
  return () => rmSync(dir, { recursive: true, force: true });
});

it.each(KINDS.map(([kind]) => kind))(
  'a signature of `ssh-keygen` with a key of %s is one of its holder',
  async (kind) => {
    allow(`carol@example.com ${lineOfKey(kind)}`);
    await sign(kind);
    expect(await whoSigned()).toEqual(['carol@example.com']);
  },
);

it('a plain key of Ed25519 makes a signature that `ssh-keygen` accepts, and its line is printed', async () => {
  const { out } = await command(['rules', 'sign', '--key', join(keys, 'plain'), '--rules', rules], {});
  expect(out).toContain(`signed 4 files of`);
  const [, line = ''] = /you@example\.com (ssh-ed25519 \S+)/.exec(out.replaceAll('\n', ' ')) ?? [];
  allow(`dora@example.com ${line}`);
  expect(await whoSigned()).toEqual(['dora@example.com']);
  const [list = '', ...blocks] = readFileSync(inRules('rules.sig'), 'utf8').split(/(?=-----BEGIN)/);
  writeFileSync(join(dir, 'own.sig'), blocks.at(-1) as string);
  const args = [
    '-Y',
    'verify',
    '-f',
    signers,
    '-I',
    'dora@example.com',
    '-n',
    'trustward-rules',
    '-s',
    join(dir, 'own.sig'),
  ];
  expect(execFileSync('ssh-keygen', args, { input: list, encoding: 'utf8' })).toContain(
    'Good "trustward-rules" signature',
  );
});

it('two who sign the same files are both named; who signs changed ones stands alone', async () => {
  await sign('rsa');
  expect(await whoSigned()).toEqual(['alice@example.com', 'bob@example.com']);
  const { hash } = await load();
  writeFileSync(inRules('more.yaml'), DISABLE_FAILING);
  await sign('rsa');
  expect(await whoSigned()).toEqual(['bob@example.com']);
  expect((await load()).hash).not.toBe(hash);
});

it('another signer of the same files is another rule set, whose stored files have the signature', async () => {
  const { hash, rules: loaded } = await load();
  const files = filesOf(loaded);
  expect(files.get('rules.sig')).toContain('BEGIN SSH SIGNATURE');
  expect(parseRuleSet(files, { traits: ACTIONS })).toMatchObject({ rules: [{ id: loaded[0]?.id }], problems: [] });
  await sign('rsa');
  expect((await load()).hash).not.toBe(hash);
});

describe('what is not covered is refused, with a line for each', () => {
  const CASES: [what: string, change: () => unknown, line: string | RegExp][] = [
    ['no signature', () => rmSync(inRules('rules.sig')), /^rules\.sig:1:1: nobody has signed these rules \(.*ENOENT/],
    [
      'a changed rule',
      () => writeFileSync(inRules('ban.yaml'), `${BAN_COMPROMISED}\n`),
      'ban.yaml:1:1: it was changed after alice@example.com signed it',
    ],
    [
      'a changed list',
      () => writeFileSync(inRules('lists/spare.yaml'), 'entries: [C2]'),
      'lists/spare.yaml:1:1: it was changed',
    ],
    [
      'changed approvals',
      () => writeFileSync(inRules('approvals.yaml'), 'approvals: [{ people: 1 }]'),
      'approvals.yaml:1:1: it was changed',
    ],
    [
      'an added file',
      () => writeFileSync(inRules('more.yaml'), DISABLE_FAILING),
      'more.yaml:1:1: it is not covered by the signature of alice@example.com',
    ],
    [
      'a removed file',
      () => rmSync(inRules('guards.yaml')),
      'rules.sig:1:1: "guards.yaml", which alice@example.com signed, is not there any longer',
    ],
    [
      'an edited list of digests',
      () => edit((text) => text.replace(/[0-9a-f]{64}/, '0'.repeat(64))),
      /rules\.sig:1:1: a signature of alice@example\.com is of another list/,
    ],
    [
      'a damaged signature',
      () => edit((text) => text.replace(/(SIGNATURE-----\n.{40}).{150}/s, '$1')),
      'rules.sig:1:1: a signature is damaged',
    ],
    [
      'a signature that is cut away',
      () => edit((text) => text.split('-----BEGIN')[0] as string),
      'rules.sig:1:1: it has no signature',
    ],
    [
      'a key that was taken out',
      () => allow(`bob@example.com ${lineOfKey('rsa')}`),
      /the key of a signature \(SHA256:\S+\) is of nobody who may sign/,
    ],
    [
      'a key for other things',
      () => allow(`alice@example.com namespaces="git" ${lineOfKey('ed25519')}`),
      'is of nobody who may sign',
    ],
    [
      'no list of signers',
      () => rmSync(signers),
      /signers:1:1: .*ENOENT.*: TRUSTWARD_RULES_SIGNERS names who may sign/,
    ],
    [
      'a line of an authority',
      () => allow(`*@example.com cert-authority ${lineOfKey('ed25519')}`),
      /signers:2:1: whoever may sign is an e-mail address, without wildcards/,
    ],
    [
      'a key with an end',
      () => allow(`a@example.com valid-before="20300101" ${lineOfKey('ed25519')}`),
      'of options only `namespaces` is known',
    ],
    ['a line without a key', () => allow('alice@example.com'), 'expected an e-mail address and a public key'],
    [
      'a key of another kind',
      () => allow('alice@example.com ssh-dss AAAAB3NzaC1kc3M='),
      'expected a key of Ed25519, ECDSA (P-256) or RSA',
    ],
  ];
  const edit = (change: (text: string) => string) =>
    writeFileSync(inRules('rules.sig'), change(readFileSync(inRules('rules.sig'), 'utf8')));

  it.each(CASES)('%s', async (_, change, line) => {
    expect(await whoSigned()).toEqual(['alice@example.com']);
    await change();
    expect(await refusal()).toMatch(
      typeof line === 'string' ? new RegExp(line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) : line,
    );
  });

  it('a signature that was made for a commit', async () => {
    const [list = ''] = readFileSync(inRules('rules.sig'), 'utf8').split('-----BEGIN');
    const args = ['-Y', 'sign', '-n', 'git', '-f', join(keys, 'ed25519')];
    const made = execFileSync('ssh-keygen', args, { input: list, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });
    writeFileSync(inRules('rules.sig'), `${list}${made}`);
    expect(await refusal()).toContain('a signature of alice@example.com was made for something else');
  });

  it('two names that differ in case alone, though both are signed', async () => {
    writeFileSync(inRules('Ban2.yaml'), DISABLE_FAILING);
    writeFileSync(inRules('ban2.yaml'), DISABLE_FAILING.replace(/^id: \S+/m, 'id: other'));
    await sign();
    expect(await refusal()).toMatch(/ban2\.yaml:1:1: its name differs from that of `Ban2\.yaml` in case alone/);
  });

  it('a link out of the folder, once what it leads to changes', async () => {
    writeFileSync(join(dir, 'outside.yaml'), DISABLE_FAILING);
    symlinkSync(join(dir, 'outside.yaml'), inRules('linked.yaml'));
    await sign();
    expect(await whoSigned()).toEqual(['alice@example.com']);
    writeFileSync(join(dir, 'outside.yaml'), `${DISABLE_FAILING}# longer\n`);
    expect(await refusal()).toMatch(/^linked\.yaml:1:1: it was changed after/);
  });

  it('one of two folders, and the signature of the other does not do for it', async () => {
    const own = join(dir, 'own');
    mkdirSync(own);
    writeFileSync(join(own, 'more.yaml'), DISABLE_FAILING);
    expect(await refusal(`${rules}:${own}`)).toMatch(/^own\/rules\.sig:1:1: nobody has signed/);
    cpSync(inRules('rules.sig'), join(own, 'rules.sig'));
    expect(await refusal(`${rules}:${own}`)).toMatch(/own\/more\.yaml:1:1: it is not covered/);
    await sign('rsa', own);
    expect(await whoSigned(`${rules}:${own}`)).toEqual(['alice@example.com', 'bob@example.com']);
  });
});

it('what is judged by is what was hashed: a file that is put back after it was read is refused', async () => {
  writeFileSync(inRules('more.yaml'), DISABLE_FAILING);
  await sign();
  writeFileSync(inRules('ban.yaml'), BAN_COMPROMISED.replace(/^id: \S+/m, 'id: swapped'));
  let reads = 0;
  // Asked before each file: the list, approvals and guards, the rule, then the other rule.
  const throwIfAborted = () => {
    reads += 1;
    if (reads === 5) writeFileSync(inRules('ban.yaml'), BAN_COMPROMISED);
  };
  const signal = { throwIfAborted } as unknown as AbortSignal;
  await expect(loadRuleFolder(rules, ACTIONS, { signal, signers })).rejects.toThrow('ban.yaml:1:1: it was changed');
  expect(await whoSigned()).toEqual(['alice@example.com']);
});

it('an unsigned change leaves the last good set active, and says who signed once it is signed', async () => {
  const holder = new RuleHolder(rules, ACTIONS, silentLog, systemClock, 'v1', undefined, undefined, signers);
  await holder.load();
  const { hash } = holder.active();
  const recorded: unknown[] = [];
  const reload = () => holder.reload(async (change) => void recorded.push(change));
  writeFileSync(inRules('more.yaml'), DISABLE_FAILING);
  await reload();
  expect(holder.active().hash).toBe(hash);
  expect(recorded).toMatchObject([
    { hash, refused: expect.stringContaining('more.yaml:1:1: it is not covered'), signedBy: undefined },
  ]);
  await sign('rsa');
  await reload();
  expect(recorded[1]).toMatchObject({ refused: undefined, signedBy: ['bob@example.com'] });
  expect(guardsOf(holder.active().rules)?.approvals?.signedBy).toEqual(['bob@example.com']);
});

it('a key that is taken out of the list is noticed while the rules stay as they are', async () => {
  const looked: string[] = [];
  const polls: (() => void)[] = [];
  const sleep = () => new Promise<void>((resolve) => polls.push(resolve));
  const poll = async () => {
    await vi.waitFor(() => expect(polls).toHaveLength(1));
    polls.pop()?.();
    await vi.waitFor(() => expect(polls).toHaveLength(1));
  };
  const clock = { ...systemClock, sleep };
  const watch = watchFolders(
    [rules, signers],
    clock,
    async () => looked.push(await refusal()) > 0,
    () => expect.unreachable(),
  );
  for (let at = 0; at < 3; at++) await poll();
  allow(`bob@example.com ${lineOfKey('rsa')}`);
  for (let at = 0; at < 3; at++) await poll();
  expect(looked).toEqual(['in order', expect.stringContaining('is of nobody who may sign')]);
  const over = watch.stop();
  polls.pop()?.();
  await over;
});

it('the audit of each run names who signed its rules', async () => {
  const org = await startOrganization({ rules: { ban: BAN_COMPROMISED } });
  await sign('ed25519', org.rulesDir);
  org.env.TRUSTWARD_RULES_SIGNERS = signers;
  await org.restart();
  await org.run('dry-run');
  const [entry] = await org.composition.engine.store.audit({ kind: 'run.started', limit: 1 });
  await org.close();
  expect(entryBody(entry as AuditEntry)).toMatchObject({ signedBy: ['alice@example.com'] });
});

it('an older signed set that is put back is used, recorded with the run that had it, and alerted', async () => {
  const org = await startOrganization({ rules: { ban: BAN_COMPROMISED } });
  org.env.TRUSTWARD_RULES_SIGNERS = signers;
  const file = join(org.rulesDir, 'ban.yaml');
  const old = readFileSync(file, 'utf8');
  for (const text of [old, old, old.replace('critical', 'low'), old]) {
    writeFileSync(file, text);
    await sign('ed25519', org.rulesDir);
    await org.restart();
    await org.run('dry-run');
  }
  const { engine } = org.composition;
  const { store, clock } = engine;
  const returned = await store.audit({ kind: 'rules.returned', limit: 10 });
  const alerts = await alertsOf({ store, engine, clock } as never).look();
  await org.close();
  expect(returned.map(entryBody)).toMatchObject([{ seq: 2, signedBy: ['alice@example.com'] }]);
  expect(alerts.map(({ code }) => code)).toContain('rules_returned');
});

it('the page of rules and `doctor` say who signed', async () => {
  const { rules: signed } = await load();
  const on = startOnPlatform({ rules: signed });
  const { text } = await pagesOnPlatform(on, signed).get('/rules');
  await on.close();
  expect(text).toContain('All files are signed by alice@example.com.');
  const settings = { rulesDir: rules, rulesSigners: signers, notify: { webhooks: new Map() }, lists: 'v1' };
  const { checks } = await rulesChecks(settings as never);
  expect(checks.map((check) => check.text)).toContain('all files are signed by alice@example.com');
});

it('`rules check` says who signed, and what is not covered', async () => {
  const check = (...more: string[]) =>
    command(['rules', 'check', '--rules', rules, ...more], { TRUSTWARD_RULES_SIGNERS: signers });
  expect((await check()).out).toMatch(/^1 rule can be loaded, all signed by alice@example\.com/);
  expect(JSON.parse((await check('--format', 'json')).out)).toMatchObject({ signedBy: ['alice@example.com'] });
  writeFileSync(inRules('more.yaml'), DISABLE_FAILING);
  expect(await check()).toMatchObject({ code: 2, err: expect.stringContaining('more.yaml:1:1: it is not covered') });
});

it('a key that does not sign is named, and nothing is written', async () => {
  const before = readFileSync(inRules('rules.sig'), 'utf8');
  for (const args of [[], ['--key', join(keys, 'none')], ['--key', signers]])
    expect(await command(['rules', 'sign', '--rules', rules, ...args], {})).toMatchObject({
      code: 2,
      err: expect.stringContaining('key'),
    });
  expect(readFileSync(inRules('rules.sig'), 'utf8')).toBe(before);
});

it('who signed the rules in force is never the last whose yes is needed, whatever the order', async () => {
  const all = guardsOf((await load()).rules)?.approvals as Approvals;
  const yes = (name: string) => ({
    at: 0,
    by: asPerson({ email: `${name}@example.com`, sub: name, issuer: 'https://id.example.com' }),
    groups: [],
  });
  const [alice, bob, carol] = [yes('Alice'), yes('bob'), yes('carol')];
  const missing = (...given: Yes[]) => missingFor(all.approvals, given, carol.by, all);
  expect(missing(alice)).toBe(
    'one more yes, not of carol@example.com, who asked for it, or of alice@example.com, who signed the rules',
  );
  expect(missingFor(all.approvals, [], alice.by, all)).toBe(
    '2 yeses, not of Alice@example.com, who asked for it and signed the rules',
  );
  expect([missing(alice, carol) === undefined, missing(alice, bob), missing(bob, alice)]).toEqual([
    false,
    undefined,
    undefined,
  ]);
  const alone = { ...all, approvals: [{ ...(all.approvals[0] as Approvals['approvals'][number]), people: 1 }] };
  const why = (one: Yes) => whyNoYes(one, { needed: alone.approvals, given: [], asked: undefined, all: alone });
  expect(why(alice)).toContain('not of alice@example.com, who signed the rules');
  expect(why(bob)).toBeUndefined();
});
