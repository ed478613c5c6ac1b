// test: files of organizations: what is read of them, each mistake with its place; while they change; and the example of docs/organizations.md.
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditNote } from '../../../src/domain/audit-entry.ts';
import { lineOf } from '../../../src/domain/errors.ts';
import { watchFolders } from '../../../src/rules/active/rule-holder.ts';
import { credentialFiles } from '../../../src/runtime/compose/compose.ts';
import { SecretFiles } from '../../../src/runtime/compose/secret-files.ts';
import type { Flags } from '../../../src/runtime/config/name-reader.ts';
import {
  configOf,
  credentialFaults,
  environmentOf,
  loadOrganizations,
  type Organization,
  OrganizationHolder,
  organizationsCheck,
  readOrganizations,
} from '../../../src/runtime/organizations/load-organizations.ts';
import { PLACES, readOrganization } from '../../../src/runtime/organizations/organization-file.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { ROOT } from '../../support/built.ts';
import { silentLog } from '../../support/organization.ts';
import { namesRead } from '../../support/settings.ts';
import { type Files, makeFiles, textOf } from './files.ts';

describe('files of organizations', () => {
  const PG = { TRUSTWARD_DB: 'postgres://trustward@db.example/trust', TRUSTWARD_STATE: '/state' };

  let files: Files;
  beforeEach(() => {
    files = makeFiles();
  });
  afterEach(() => rmSync(files.root, { recursive: true, force: true }));

  const load = (base = {}) => loadOrganizations(files.folder, base);
  const faultsOf = (base = {}): Promise<string[]> =>
    load(base).then(
      () => [],
      (error) => lineOf(error).replaceAll(`${files.folder}/`, '').split('\n'),
    );
  async function only(base = {}): Promise<Organization> {
    const [organization] = await load(base);
    return organization as Organization;
  }

  describe('a file of an organization', () => {
    it('is a configuration like that of the environment, with places of its own', async () => {
      files.add(
        'acme',
        `mode: approve
schedule: '*/10 * * * *'
watch: 1m
ceilings: { run: { max: 7, percent: 2.5 }, day: '70,10%' }
freeze: ['Fri 18:00-Mon 06:00', '22:00-23:00 Europe/Berlin']
time_zone: Europe/Madrid
history: 7d
evidence: { enforce-days: 30, unknown: 2 }
trust: { shrunk_percent: 5, records_max: 1000 }
timing: { quiet_period: 20s }
`,
      );
      const config = configOf(await only(), { ...PG, TRUSTWARD_LISTEN: '127.0.0.1:9000' });
      expect(config).toMatchObject({
        api: { url: 'https://acme.console.example', credential: { kind: 'api_key', secret: 'key-of-acme' } },
        database: { kind: 'postgres', organization: 'acme', beside: '/state/acme/trustward' },
        rulesDir: ['shared', 'own'].map((name) => join(files.root, 'rules', name)).join(':'),
        mode: 'approve',
        modeCap: 'approve',
        schedule: '*/10 * * * *',
        watchMs: 60_000,
        ceilings: { run: { max: 7, percent: 2.5 }, day: { max: 70, percent: 10 } },
        historyMs: 7 * 86_400_000,
        listen: { host: '127.0.0.1', port: 9000 },
      });
      expect(config.windows.freeze).toHaveLength(2);
      expect(config.evidence).toMatchObject({ daysMin: { enforce: 30 }, unknownPercentMax: 2 });
      expect(config.trust).toMatchObject({ shrunkPercent: 5, recordsMax: 1000 });
      expect(config.timing.quietMs).toBe(20_000);
      // Its credential is read again when this file changes.
      expect(config.secretFiles.get('TRUSTWARD_API_KEY')).toBe(join(files.folder, 'secrets/acme.key'));
    });

    it('has webhooks of its own, which alerts go to', async () => {
      files.write('secrets/hook', 'a-secret-of-the-webhook\n');
      files.write(
        'secrets/hooks.yaml',
        `security: { url: 'https://hooks.example/x', secretFile: '${join(files.folder, 'secrets/hook')}' }\n`,
      );
      const lines =
        "webhooks: secrets/hooks.yaml\nwebhook_hosts: [hooks.example]\nalerts: { to: [security], silence: 1h, quiet_hours: '22:00-06:00' }\n";
      files.add('acme', lines);
      const { notify, windows } = configOf(await only(), PG);
      expect([[...notify.webhooks.keys()], notify.alertsTo, notify.silenceMs]).toEqual([
        ['security'],
        ['security'],
        3_600_000,
      ]);
      expect(windows.quietHours).toHaveLength(1);
      files.add('acme', lines.replace('[hooks.example]', '[other.example]'));
      expect(await faultsOf()).toEqual([
        expect.stringMatching(/^acme\.yaml:7:1: webhook `security`: `hooks\.example` is not among `webhook_hosts`: /),
      ]);
    });

    it('names only settings that are read, each once', () => {
      const names = PLACES.map(({ setting }) => setting.name.replace(/_FILE$/, ''));
      expect(new Set(names).size).toBe(names.length);
      expect(namesRead()).toEqual(expect.arrayContaining(names));
    });
  });

  describe('a mistake in a configuration', () => {
    const messageOf = async (flags: Flags = {}) => {
      try {
        return configOf(await only(), PG, flags) && 'no mistake';
      } catch (error) {
        return lineOf(error).replaceAll(`${files.folder}/`, '');
      }
    };
    it('of a flag has no place in the file, although its text names a setting that the file has', async () => {
      files.add('acme');
      expect(await messageOf({ apiUrl: 'https://me:word@acme.example' })).toBe(
        'configuration: --api-url holds a user name or password: give the credential in TRUSTWARD_API_KEY',
      );
    });
    it('of a secret has the place of the file that holds it', async () => {
      files.write('secrets/beat', 'http://beat.example/in');
      files.add('acme', 'heartbeat: { url_file: secrets/beat }\n');
      expect(await messageOf()).toMatch(/^acme\.yaml:7:14: .*`heartbeat\.url_file`: its url must be/);
    });
  });

  describe('settings of the environment', () => {
    it('are the defaults of every organization', async () => {
      files.add('acme', 'history: 7d\n');
      const base = { ...PG, TRUSTWARD_HISTORY: '3d', TRUSTWARD_QUIET_PERIOD: '33s', TRUSTWARD_FREEZE: '22:00-23:00' };
      const config = configOf(await only(base), base);
      expect([config.historyMs, config.timing.quietMs, config.windows.freeze.length]).toEqual([
        7 * 86_400_000,
        33_000,
        1,
      ]);
    });
    it('never pass a credential, an address, rules or a heartbeat to an organization', async () => {
      files.add('acme');
      const base = {
        ...PG,
        TRUSTWARD_API_URL: 'https://other.example',
        TRUSTWARD_API_KEY: 'key-of-another',
        TRUSTWARD_REFRESH_TOKEN: 'token-of-another',
        TRUSTWARD_ADMIN_TOKEN: 'admin-of-another',
        TRUSTWARD_RULES: 'elsewhere',
        TRUSTWARD_HEARTBEAT_URL: 'https://beat.example/another',
        TRUSTWARD_WEBHOOK_HOSTS: 'beat.example',
        TRUSTWARD_SOURCES: '/secrets/of/another',
        SOURCE_TOKEN: 'source-of-another',
      };
      const config = configOf(await only(base), base);
      expect(config.api).toEqual({
        url: 'https://acme.console.example',
        credential: { kind: 'api_key', secret: 'key-of-acme' },
        adminToken: undefined,
      });
      expect([config.heartbeat, config.rulesDir.includes('elsewhere')]).toEqual([undefined, false]);
      expect(JSON.stringify(environmentOf(await only(), base))).not.toContain('another');
    });
    it.each([
      [undefined, undefined, 'dry-run'],
      ['enforce', undefined, 'dry-run'],
      [undefined, 'enforce', 'enforce'],
      ['approve', 'enforce', 'approve'],
      ['dry-run', 'enforce', 'dry-run'],
      ['enforce', 'approve', 'approve'],
    ])('have the most that any may do: %s, with %s in the file', async (most, own, mode) => {
      files.add('acme', own === undefined ? '' : `mode: ${own}\n`);
      const base = { ...PG, TRUSTWARD_MODE: most };
      const config = configOf(await only(base), base);
      expect([config.mode, config.modeCap]).toEqual([mode, mode]);
    });
    it('that are wrong are told once, and not as a mistake of a file', async () => {
      files.add('acme', 'mode: enforce\n');
      files.add('beta', 'mode: enforce\n');
      expect(await faultsOf({ TRUSTWARD_MODE: 'all', TRUSTWARD_HISTORY: 'x' })).toEqual([
        'configuration: TRUSTWARD_MODE is `all`: expected dry-run, approve, enforce',
        'configuration: TRUSTWARD_HISTORY is `x`: expected a duration such as 30d',
      ]);
    });
  });

  const SECRET = 'canary-secret-4711';

  describe('a mistake', () => {
    it.each([
      ['modus: enforce', 'acme.yaml:7:1: there is no `modus` in an organization; did you mean `mode`?'],
      ['mode: enforc', 'acme.yaml:7:1: `mode` is `enforc`: expected dry-run, approve, enforce'],
      ['mode: [approve]', 'acme.yaml:7:1: `mode`: expected a text or a number, found `["approve"]`'],
      ['schedule: every day', 'acme.yaml:7:1: `schedule` is `every day`: '],
      ['watch: 30', 'acme.yaml:7:1: `watch` is `30`: expected a duration from 1s to 1d such as 30s'],
      [
        'ceilings: { run: { max: -1, percent: 5 } }',
        'acme.yaml:7:20: `ceilings.run.max`: expected {max: 50, percent: 5}',
      ],
      ['ceilings: { week: "50,5%" }', 'acme.yaml:7:13: there is no `ceilings.week` in an organization'],
      [
        'ceiling_run: "50,5%"',
        'acme.yaml:7:1: there is no `ceiling_run` in an organization; did you mean `ceilings.run`?',
      ],
      ['trust: { shrunk_percent: 200 }', 'acme.yaml:7:10: `trust.shrunk_percent` is `200`: expected 0 to 100'],
      ['trust: 5', 'acme.yaml:7:1: `trust`: expected a group of keys, found `5`'],
      ['freeze: ["Fri"]', 'acme.yaml:7:1: `freeze`: '],
      ['history: 1h', 'acme.yaml:7:1: `history` is shorter than 1d: expected a duration such as 30d'],
      ['mode:', 'acme.yaml:7:1: `mode`: expected a text or a number, found `null`'],
      ['mode: approve\nmode: enforce', 'acme.yaml:8:1: this key is given twice'],
      ['schedule: */5 * * * *', 'acme.yaml:7:15: a text that begins with `*` is put into quotes'],
      [
        `api_key: ${SECRET}`,
        'acme.yaml:7:1: there is no `api_key` in an organization: put the secret into a file, and give its path in `api.api_key_file`',
      ],
    ])('has its file, line, column and what is right: %s', async (line, expected) => {
      files.add('acme', `${line}\n`);
      const [first, ...more] = await faultsOf();
      expect(first).toContain(expected);
      expect([more, [first, ...more].join().includes(SECRET)]).toEqual([[], false]);
    });

    it.each<[string, string, string]>([
      ['api:', 'apo:', 'acme.yaml:3:1: there is no `apo` in an organization; did you mean `api`?'],
      ['  url: https://acme.console.example\n', '', 'acme.yaml:3:1: `api.url` is missing'],
      [
        'https://acme.console.example',
        'acme.console.example',
        'acme.yaml:4:3: `api.url` is `acme.console.example`: expected an address',
      ],
      [
        'https://acme',
        'https://u:canary-secret-4711@acme',
        'acme.yaml:4:3: `api.url` holds a user name or password: give the credential in `api.api_key_file`',
      ],
      [
        'api_key_file: secrets/acme.key',
        'lists: v2',
        'acme.yaml:3:1: `api` has no credential: give a file in `api_key_file` or in `refresh_token_file`',
      ],
      [
        'api_key_file: secrets/acme.key',
        'api_key_file: [a]',
        'acme.yaml:5:3: `api.api_key_file`: expected the path of a file that holds the credential',
      ],
      ['rules: [../rules/shared, ../rules/own]', '', 'acme.yaml:1:1: `rules` is missing'],
      ['../rules/own', '../rules/gone', 'acme.yaml:6:26: `rules`: `'],
      ['../rules/own', '../rules/shared', 'acme.yaml:6:1: `rules` names `../rules/shared` twice'],
      [
        'id: acme',
        'id: Acme',
        'acme.yaml:1:1: `id`: expected lower-case letters, digits and single hyphens, at most 63, found `"Acme"`',
      ],
      ['id: acme', 'id: ../acme', 'acme.yaml:1:1: `id`: expected lower-case letters'],
      ['id: acme', 'id: beta', 'acme.yaml:1:1: `id` is `beta` and the file is `acme.yaml`: name the file `beta.yaml`'],
      ['name: The acme\n', '', 'acme.yaml:1:1: `name` is missing'],
      ['name: The acme', 'name: "a\\u202eb"', 'acme.yaml:2:1: `name`: expected a text of one line'],
    ])('in what each must have: `%s`', async (from, to, expected) => {
      files.add('acme');
      files.write('acme.yaml', textOf('acme').replace(from, to));
      const lines = await faultsOf();
      expect(lines.filter((line) => line.startsWith(expected))).toHaveLength(1);
      expect(lines.join()).not.toContain(SECRET);
    });

    it('does not hide another, in whichever file', async () => {
      files.add('acme', 'mode: x\nwatch: y\n');
      files.add('beta', 'modus: x\n');
      files.write('gamma.yaml', '- no\n- object\n');
      files.write('delta.yml', textOf('delta'));
      expect((await faultsOf()).map((line) => line.split(': ')[0])).toEqual([
        'acme.yaml:7:1',
        'acme.yaml:8:1',
        'beta.yaml:7:1',
        'delta.yml:1:1',
        'gamma.yaml:1:1',
      ]);
    });

    it('does not hide another of the same file, whatever its kind', async () => {
      files.add('acme');
      const text = textOf('acme', 'mode: all\nwatch: y\ntrust: 5\nmodus: x\n');
      files.write('acme.yaml', text.replace('id: acme', 'id: ACME').replace('rules/own', 'rules/gone'));
      expect((await faultsOf()).map((line) => line.split(': ')[0])).toEqual(
        [1, 6, 7, 8, 9, 10].map((line) => `acme.yaml:${line}:${line === 6 ? 26 : 1}`),
      );
      files.write('acme.yaml', text.replace('id: acme', 'id: beta').replace(/api:\n.*\n.*\n/, ''));
      expect(await faultsOf()).toEqual([
        'acme.yaml:1:1: `id` is `beta` and the file is `acme.yaml`: name the file `beta.yaml`',
        'acme.yaml:1:1: `api.url` is missing',
        expect.stringMatching(/^acme\.yaml:4:1: `mode` is `all`/),
        expect.stringMatching(/^acme\.yaml:5:1: `watch` is `y`/),
        expect.stringMatching(/^acme\.yaml:6:1: `trust`: expected a group/),
        expect.stringMatching(/^acme\.yaml:7:1: there is no `modus`/),
      ]);
    });

    it('is found at the path that the folder was given by', async () => {
      files.add('acme', 'modus: x\n');
      const folder = relative(process.cwd(), files.folder);
      const { problems } = await readOrganizations(folder, {});
      expect(problems).toMatchObject([{ file: `${folder}/acme.yaml`, line: 7 }]);
    });

    it('is one address with one credential in two files: both would act on it', async () => {
      files.add('acme');
      files.write('acme-2.yaml', textOf('acme').replace('id: acme', 'id: acme-2'));
      expect(await faultsOf()).toEqual([
        'acme.yaml:4:3: the address and the credential are those of `acme-2.yaml`: two files would act on one organization',
      ]);
    });

    it('is a folder that is missing, and one without any', async () => {
      expect((await faultsOf())[0]).toContain('there is no organization in');
      rmSync(files.folder, { recursive: true });
      expect((await faultsOf())[0]).toContain('does not exist: give it in TRUSTWARD_ORGANIZATIONS');
    });
  });

  describe('a credential that cannot be read', () => {
    it('is a matter of its organization alone: the others are loaded, and it is named where it is asked for', async () => {
      files.add('acme');
      files.add('beta');
      rmSync(join(files.folder, 'secrets/acme.key'));
      const [acme, beta] = (await load()) as [Organization, Organization];
      expect(credentialFaults(acme)).toEqual([
        expect.stringMatching(/^`api\.api_key_file`: `\S+acme\.key` cannot be read \(ENOENT\)$/),
      ]);
      expect(credentialFaults(beta)).toEqual([]);
      expect(() => configOf(acme, PG)).toThrow(
        /^\S+\/organizations\/acme\.yaml:5:3: `api\.api_key_file`: `\S+` cannot be read \(ENOENT\)$/,
      );
      expect(configOf(beta, PG).api?.url).toBe('https://beta.console.example');
    });
    it('is not repeated when it stands where its path should', async () => {
      files.add('acme');
      files.write('acme.yaml', textOf('acme').replace('secrets/acme.key', SECRET));
      const acme = await only();
      const shown = [...credentialFaults(acme), lineOf(capture(() => configOf(acme, PG)))].join();
      expect(shown).toContain('`api.api_key_file` cannot be read (ENOENT): give the path of a file');
      expect(shown).not.toContain(SECRET);
    });
  });

  function capture(work: () => unknown): unknown {
    try {
      return work();
    } catch (error) {
      return error;
    }
  }

  describe('any file at all', () => {
    const file = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc
        .tuple(
          fc.constantFrom(...textOf('acme', 'mode: approve\ntrust: {shrunk_percent: 5}\n').split('\n').keys()),
          fc.string(),
        )
        .map(([line, text]) =>
          textOf('acme', 'mode: approve\ntrust: {shrunk_percent: 5}\n').split('\n').with(line, text).join('\n'),
        ),
      fc
        .tuple(fc.constantFrom(...PLACES), fc.jsonValue())
        .map(([{ place }, value]) =>
          place.length === 1
            ? textOf('acme', `${place[0]}: ${JSON.stringify(value)}\n`)
            : textOf('acme', `${place[0]}: { ${place[1]}: ${JSON.stringify(value)} }\n`),
        ),
    );
    it('is an organization or has problems with places, and never crashes', () => {
      fc.assert(
        fc.property(file, (text) => {
          const read = readOrganization(text, join(files.folder, 'acme.yaml'));
          if ('organization' in read) {
            expect(read.organization.id).toBe('acme');
            const config = capture(() => configOf(read.organization, PG));
            if (config instanceof Error) expect(config).toMatchObject({ code: 'config' });
          } else {
            expect(read.problems.length).toBeGreaterThan(0);
            for (const { line, column, message } of read.problems)
              expect([line > 0, column > 0, message !== '' && !message.includes('\n')]).toEqual([true, true, true]);
          }
        }),
        { numRuns: 500 },
      );
    });
  });

  describe('a thousand organizations', () => {
    it('are loaded', async () => {
      const [ids, rules] = [Array.from({ length: 1_000 }, (_, at) => `org-${at}`), ''];
      for (const id of ids) files.add(id, rules);
      expect(await load()).toHaveLength(1_000);
    });
  });

  it('a credential file is not opened when organizations are loaded', async () => {
    files.add('acme');
    writeFileSync(join(files.folder, 'secrets/acme.key'), '');
    expect((await only()).outline).toMatchObject({
      address: 'https://acme.console.example',
      mode: 'dry-run',
      watchMs: 30_000,
    });
  });

  it('a credential of a file is read again when it changes, and only what the audit knows of is used', async () => {
    files.add('acme');
    const config = configOf(await only(), PG);
    const audited: AuditNote[] = [];
    const watched = credentialFiles(config, { api: () => {}, token: () => {} });
    const append = async (notes: AuditNote[]) => audited.push(...notes);
    const secretFiles = new SecretFiles({ files: watched, append, clock: systemClock, log: silentLog });
    files.write('secrets/acme.key', 'another-key\n');
    await secretFiles.look();
    await secretFiles.look();
    expect(config.api?.credential).toEqual({ kind: 'api_key', secret: 'another-key' });
    expect(audited).toMatchObject([{ kind: 'credential.replaced', body: { name: 'TRUSTWARD_API_KEY_FILE' } }]);
  });
});

describe('the organizations that are worked on while their files change', () => {
  let files: Files;
  let said: string[];
  let holder: OrganizationHolder;
  beforeEach(() => {
    files = makeFiles();
    said = [];
    const say = (_: object, text: string) => void said.push(text);
    holder = new OrganizationHolder(files.folder, {}, systemClock, { debug: say, info: say, warn: say, error: say });
    files.add('acme');
    files.add('beta');
  });
  afterEach(() => rmSync(files.root, { recursive: true, force: true }));
  const ids = () => holder.all().map(({ id }) => id);

  describe('organizations', () => {
    it('are refused at the start, every mistake in one error', async () => {
      files.write('beta.yaml', 'id: [');
      files.add('gamma', 'modus: x\n');
      await expect(holder.load()).rejects.toMatchObject({
        code: 'config',
        message: expect.stringMatching(/^\S+\/beta\.yaml:1:\d+: .+\n\S+\/gamma\.yaml:7:1: there is no `modus`/),
      });
      expect(() => holder.all()).toThrow('before they were loaded');
    });

    it('stay as they are after a bad edit, which is told once, in the log and to everybody who asks', async () => {
      await holder.load();
      expect(organizationsCheck(holder)).toEqual({ name: 'organizations', ok: true, text: '2 organizations' });
      files.add('beta', 'mode: all\n');
      files.add('gamma');
      for (let time = 0; time < 2; time++) expect(await holder.reload()).toBe(true);
      expect(ids()).toEqual(['acme', 'beta']);
      expect(said).toEqual([
        `organizations were refused, the last good set stays: ${files.folder}/beta.yaml:7:1: \`mode\` is \`all\`: expected dry-run, approve, enforce`,
      ]);
      const check = organizationsCheck(holder);
      expect(check).toMatchObject({ ok: false, text: expect.stringContaining('1 problem: beta.yaml:7') });
      expect(check.text).not.toContain('`all`');
      files.add('beta', 'mode: approve\n');
      await holder.reload();
      expect([ids(), holder.find('beta')?.outline.mode, holder.refusal]).toEqual([
        ['acme', 'beta', 'gamma'],
        'approve',
        undefined,
      ]);
      expect(said.at(-1)).toBe('organizations loaded: 3');
    });

    it('are no longer worked on when their file is gone, and nothing of them is deleted', async () => {
      await holder.load();
      rmSync(join(files.folder, 'beta.yaml'));
      await holder.reload();
      expect([ids(), holder.find('beta')]).toEqual([['acme'], undefined]);
      expect(said.at(-1)).toBe('the file of organization `beta` is gone: it is no longer worked on');
    });

    it('stay when the folder is empty or gone: a mount that was lost ends no work', async () => {
      await holder.load();
      renameSync(files.folder, `${files.folder}.away`);
      await holder.reload();
      expect(ids()).toEqual(['acme', 'beta']);
      expect(holder.refusal).toEqual([expect.stringContaining('does not exist')]);
    });

    it('are noticed by the watch when a file changes', async () => {
      await holder.load();
      let changed = () => {};
      const reloaded = new Promise<void>((resolve) => {
        changed = resolve;
      });
      const failed = (error: unknown) => said.push(String(error));
      const watch = watchFolders(
        [files.folder],
        systemClock,
        async (ending) => {
          const inTime = await holder.reload(ending);
          if (holder.find('gamma')) changed();
          return inTime;
        },
        failed,
      );
      files.add('gamma');
      await reloaded;
      await watch.stop();
      expect(ids()).toEqual(['acme', 'beta', 'gamma']);
    });
  });
});

describe('docs/organizations.md', () => {
  const text = readFileSync(join(ROOT, 'docs/organizations.md'), 'utf8');
  const root = mkdtempSync(join(tmpdir(), 'trustward-docs-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  it('the example of the docs is loaded', async () => {
    const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(text) ?? [];
    for (const name of ['organizations', 'rules/shared', 'rules/acme'])
      mkdirSync(join(root, name), { recursive: true });
    writeFileSync(join(root, 'organizations/acme.yaml'), example);
    const [acme] = await loadOrganizations(join(root, 'organizations'), {});
    expect(acme).toMatchObject({
      id: 'acme',
      outline: { address: 'https://acme.console.example.com', mode: 'approve', schedule: '*/5 * * * *' },
    });
  });

  it('the table of the docs has every key with its setting', () => {
    const rows = [...text.matchAll(/^\| `([a-z_.]+)` \| `(TRUSTWARD_[A-Z_]+)` \|/gm)].map(([, key, name]) => [
      key,
      name,
    ]);
    expect(rows).toEqual(PLACES.map(({ place, setting }) => [place.join('.'), setting.name]));
  });
});
