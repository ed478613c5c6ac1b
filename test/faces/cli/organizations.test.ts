// test: `organizations check`, `organizations list`, and `--org` on the commands that are about one.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Files, makeFiles } from '../../runtime/organizations/files.ts';
import { command } from '../../support/in-process.ts';

let files: Files;
let env: Record<string, string>;
beforeEach(() => {
  files = makeFiles();
  files.add('acme', 'mode: approve\n');
  files.add('beta');
  env = {
    TRUSTWARD_ORGANIZATIONS: files.folder,
    TRUSTWARD_DB: 'postgres://trustward@127.0.0.1:1/trust',
    TRUSTWARD_STATE: join(files.root, 'state'),
  };
});
afterEach(() => rmSync(files.root, { recursive: true, force: true }));
const ask = (...args: string[]) => command(args, env);

describe('`organizations check`', () => {
  it('finds nothing wrong with a good folder, without any other setting', async () => {
    env = {};
    const found = await ask('organizations', 'check', '--organizations', files.folder);
    expect(found).toEqual({ code: 0, out: '2 organizations can be loaded\n', err: '' });
  });
  it('ends with exit code 1, and every mistake of files, rules and credentials', async () => {
    files.add('acme', 'modus: approve\n');
    files.add('gamma');
    rmSync(join(files.folder, 'secrets/gamma.key'));
    writeFileSync(join(files.root, 'rules/own/broken.yaml'), 'id: broken\n');
    const { code, out } = await ask('organizations', 'check');
    expect([code, out.split('\n')]).toEqual([
      1,
      expect.arrayContaining([
        `${files.folder}/acme.yaml:7:1: there is no \`modus\` in an organization; did you mean \`mode\`?`,
        expect.stringMatching(/^\S+\/beta\.yaml and 1 more: rules: own\/broken\.yaml:1:1: /),
        expect.stringMatching(/^\S+\/gamma\.yaml: `api\.api_key_file`: `\S+` cannot be read \(ENOENT\)$/),
      ]),
    ]);
    const json = JSON.parse((await ask('organizations', 'check', '--format', 'json')).out);
    expect(json).toMatchObject({
      ok: false,
      problems: [{ file: join(files.folder, 'acme.yaml'), line: 7, column: 1 }],
    });
  });
  it('finds one credential in two files, at one address: both would act on one organization', async () => {
    const api = 'api:\n  url: https://acme.console.example\n  api_key_file: secrets/beta.key\n';
    files.write('beta.yaml', `id: beta\nname: The beta\n${api}rules: ../rules/shared\n`);
    expect((await ask('organizations', 'check')).code).toBe(0);
    files.write('secrets/beta.key', 'key-of-acme\n');
    const { code, out } = await ask('organizations', 'check');
    expect([code, out.split('\n')[0]]).toEqual([
      1,
      `${files.folder}/beta.yaml: the address and the credential are those of \`${files.folder}/acme.yaml\`, in another file: two files would act on one organization`,
    ]);
  });
  it('names a folder that is missing or empty', async () => {
    const missing = await ask('organizations', 'check', '--organizations', join(files.root, 'gone'));
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('does not exist')]);
    const empty = await ask('organizations', 'check', '--organizations', join(files.root, 'rules'));
    expect([empty.code, empty.out]).toEqual([1, expect.stringContaining('there is no organization in')]);
  });
});

describe('`organizations list`', () => {
  it('shows each with its address, mode, schedule and rules, and whether its credential can be read', async () => {
    rmSync(join(files.folder, 'secrets/beta.key'));
    const { code, out } = await ask('organizations', 'list', '--format', 'json');
    const [acme, beta] = JSON.parse(out);
    expect([code, acme]).toEqual([
      0,
      {
        id: 'acme',
        name: 'The acme',
        address: 'https://acme.console.example',
        mode: 'approve',
        schedule: '*/5 * * * *',
        rules: [join(files.root, 'rules/shared'), join(files.root, 'rules/own')],
        file: join(files.folder, 'acme.yaml'),
        credential: { ok: true, faults: [] },
      },
    ]);
    expect(beta).toMatchObject({ mode: 'dry-run', credential: { ok: false } });
    expect((await ask('organizations', 'list')).out).not.toContain('key-of-');
  });
});

describe('--org', () => {
  it('is needed where there are several, and must name one of them', async () => {
    for (const args of [
      ['report'],
      ['stop', '--reason', 'x'],
      ['run'],
      ['rules', 'list'],
      ['audit', 'verify'],
      ['tokens', 'list'],
    ]) {
      const missing = await ask(...args);
      expect([missing.code, missing.err], args.join(' ')).toEqual([
        2,
        `trustward: --org is missing: \`${files.folder}\` has 2 organizations: acme, beta\n`,
      ]);
      const unknown = await ask(...args, '--org', 'gamma');
      expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('there is no organization `gamma`')]);
    }
  });
  it('gives a command the settings of that organization', async () => {
    expect((await ask('rules', 'check', '--org', 'acme')).out).toContain('2 rules can be loaded');
    files.add('beta', 'history: 1h\n');
    expect(await ask('rules', 'check', '--org', 'beta')).toMatchObject({
      code: 2,
      err: expect.stringContaining('TRUSTWARD_HISTORY is shorter'),
    });
    const run = await ask('run', '--org', 'beta');
    expect(run).toEqual({
      code: 2,
      out: '',
      err: `trustward: ${files.folder}/beta.yaml:7:1: \`history\` is shorter than 1d: expected a duration such as 30d, or 0d for no history\n`,
    });
  });
  it('is not kept from stopping one by a mistake in any file', async () => {
    files.add('beta', 'modus: x\n');
    for (const org of ['acme', 'beta']) {
      const { err } = await ask('stop', '--reason', 'x', '--org', org);
      expect(err).not.toContain('modus');
    }
  });
  it('is refused with a SQLite database, which has one organization', async () => {
    env = { TRUSTWARD_DB: join(files.root, 'x.db') };
    for (const args of [['report'], ['run'], ['rules', 'check'], ['stop', '--reason', 'x']]) {
      const { code, err } = await ask(...args, '--org', 'acme');
      expect([code, err], args.join(' ')).toEqual([
        2,
        expect.stringMatching(/is a SQLite database, which has one organization: leave out --org, or [^\n]+\n$/),
      ]);
    }
  });
  it('backups and restores of a file name what PostgreSQL has instead', async () => {
    const both = ['backup', 'restore'].map((verb) => ['db', verb, 'x.db']);
    for (const args of both.flatMap((each) => [[...each, '--org', 'acme'], each])) {
      const { code, err } = await ask(...args);
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(/is a PostgreSQL database, and this works on a SQLite file: use [^\n]*pg_dump[^\n]*\n$/),
      ]);
    }
  });
  it('goes with doctor, which names a setting that nothing reads, and shows no password', async () => {
    env = { ...env, TRUSTWARD_DB_PASSWORD: 'canary-0815-password', TRUSTWARD_SCHEDUL: 'x' };
    const { out } = await ask('doctor', '--org', 'acme');
    expect(out).toMatch(/TRUSTWARD_SCHEDUL is set, but Trustward has no such/);
    expect(out).not.toContain('canary-0815');
    expect(out).not.toMatch(/TRUSTWARD_(STATE|ORGANIZATIONS|DB_PASSWORD) is set, but/);
  });
});
