// package: what `npm pack` makes is installed in an empty folder and works there, without anything of this repository.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../support/built.ts';
import { isThorough } from '../support/fixed-seed.ts';
import { type Installed, packAndInstall } from './installed.ts';

const run = promisify(execFile);
const SHIPPED_RULES = 'node_modules/trustward/rules';

let installed: Installed;
beforeAll(() => {
  installed = packAndInstall();
}, 600_000);
afterAll(() => installed?.remove());

const pathsOf = () => installed.packed.files.map(({ path }) => path);

function trustward(...args: string[]) {
  const { folder, env } = installed;
  return run(join(folder, 'node_modules/.bin/trustward'), args, { cwd: folder, env, maxBuffer: 64 * 2 ** 20 });
}

describe('the package', () => {
  it('is of a bounded size', () => {
    const { size, unpackedSize, files } = installed.packed;
    const kb = (bytes: number) => `${Math.round(bytes / 1_000)} kB`;
    const how = installed.byNpm ? 'installed by npm' : 'no registry: linked';
    process.stdout.write(`package: ${kb(size)} packed, ${kb(unpackedSize)} unpacked, ${files.length} files; ${how}\n`);
    expect(size).toBeLessThan(2_900_000);
    expect(unpackedSize).toBeLessThan(10_700_000); // a third of it is the guide
    expect(files.length).toBeLessThan(2_100);
  });

  it('has the program with its files, types, rules and pages, and nothing else', () => {
    const allowed =
      /^(dist\/.+(\.js|\.d\.ts|\.css|\.sql)|dist\/guide\/.+|dist\/runtime\/notify\/templates\/.+\.(txt|html)|rules\/.+\.(yaml|json)|docs\/.+|ops\/.+|package\.json|README\.md|SECURITY\.md|CHANGELOG\.md|LICENSE)$/;
    expect(pathsOf().filter((path) => !allowed.test(path) || /\.test\.|\.map$/.test(path))).toEqual([]);
    expect(pathsOf()).toEqual(expect.arrayContaining(['docs/report.schema.json', 'rules/rule.schema.json', 'LICENSE']));
  });

  it('has each file that stands beside the sources and is no source', () => {
    const beside = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8', withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.tsx?$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).replace(join(ROOT, 'src'), 'dist'));
    expect(beside.length).toBeGreaterThan(20);
    expect(beside.filter((path) => !pathsOf().includes(path))).toEqual([]);
  });

  it('has what its pages lead to', () => {
    const known = new Set(pathsOf());
    const folders = new Set(pathsOf().map(dirname));
    const broken = pathsOf()
      .filter((path) => path.endsWith('.md'))
      .flatMap((page) => {
        const text = readFileSync(join(ROOT, page), 'utf8').replace(/```[\s\S]*?```/g, '');
        const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link]) => link as string);
        const local = links.filter((link) => !/^[a-z]+:/.test(link));
        return local.map((link) => normalize(join(dirname(page), link))).map((path) => ({ page, path }));
      })
      .filter(({ path }) => !known.has(path) && !folders.has(path.replace(/\/$/, '')));
    expect(broken).toEqual([]);
  });

  it('names its version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect((await trustward('--version')).stdout.trim()).toBe(version);
  });

  it('checks and tests the rules that it brings', { timeout: 120_000 }, async () => {
    expect((await trustward('rules', 'check', '--rules', SHIPPED_RULES)).stdout).toBe('6 rules can be loaded\n');
    expect((await trustward('rules', 'test', '--rules', SHIPPED_RULES)).stdout).toContain('passed');
  });

  it('serves a made-up organization to a first ban, and a run after it prints a report as JSON', {
    timeout: 120_000,
  }, async () => {
    const { folder, env } = installed;
    const settings = {
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_LOG_FORMAT: 'plain',
      TRUSTWARD_SCHEDULE: '*/2 * * * * *',
    };
    const daemon = spawn('node_modules/.bin/trustward', ['serve', '--rules', SHIPPED_RULES], {
      cwd: folder,
      env: { ...env, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 200_000,
    });
    let heard = '';
    const banned = new Promise<void>((resolve, reject) => {
      for (const stream of [daemon.stdout, daemon.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          heard += text;
          if (/ban_device \S+: succeeded/.test(heard)) resolve();
        });
      daemon.on('exit', () => reject(new Error(`it ended before a ban: ${heard}`)));
    });
    await banned;
    expect(heard).toContain('Trustward DEMO is running.');
    daemon.kill('SIGTERM');
    expect((await once(daemon, 'exit'))[0]).toBe(0);
    const args = ['run', '--mode', 'dry-run', '--format', 'json', '--rules', SHIPPED_RULES];
    const report = JSON.parse((await trustward(...args)).stdout) as { run: object; snapshot: object };
    expect(report).toMatchObject({ run: { status: 'completed', mode: 'dry-run' }, snapshot: { trusted: true } });
  });
});

const SCRIPT = `import { ManagementClient, systemClock, systemRandom } from 'trustward';
import { ManagementClient as Same } from 'trustward/client';
import { AppError, checkRule, judgeRecord, loadRules, problemLine, testRules } from 'trustward/rules';

const credential = { kind: 'none' } as const;
const client: Same = new ManagementClient({ address: 'http://127.0.0.1:1', credential, clock: systemClock, random: systemRandom });
await client.close();

const rules = await loadRules('${SHIPPED_RULES}');
const tested = testRules(rules);
const rule = rules.find(({ id }) => id === 'ban-compromised-device');
if (!rule) throw new Error('the rule is not there');
const MdmData = { CompromisedStatus: 'TRUE', Timestamp: 1_768_478_400 };
const verdicts = [MdmData, {}].map(
  (known) => judgeRecord(rule, { DeviceID: 'd', MdmData: known }, { nowMs: 1_768_478_400_000 }).verdict,
);
const wrong = checkRule('id: x\\ntitel: y\\n', 'x.yaml');
const lines: string[] = 'problems' in wrong ? wrong.problems.map(problemLine) : [];
const missing = await loadRules('nowhere').catch((error: unknown) => (error instanceof AppError ? error.code : 'other'));
// @ts-expect-error A wrong use is a mistake: the types are those of the package, and not any.
export const mistake: number = tested.ok;
process.stdout.write(JSON.stringify({ ok: tested.ok, verdicts, lines: lines.length, missing }));
`;

describe('a TypeScript project with the package', () => {
  beforeAll(() => {
    const { folder } = installed;
    writeFileSync(join(folder, 'script.mts'), SCRIPT);
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'));
    symlinkSync(join(ROOT, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'));
  });

  const resolutions = [
    ['nodenext', 'nodenext'],
    ['bundler', 'esnext'],
  ] as const;
  it.each(resolutions.slice(0, isThorough ? 2 : 1))(
    'has its types with the module resolution %s',
    { timeout: 240_000 },
    async (moduleResolution, module) => {
      const compilerOptions = {
        noEmit: true,
        strict: true,
        target: 'es2023',
        types: ['node'],
        moduleResolution,
        module,
      };
      const file = join(installed.folder, `tsconfig.${moduleResolution}.json`);
      writeFileSync(file, JSON.stringify({ compilerOptions, files: ['script.mts'] }));
      const tsc = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', file];
      const { stdout } = await run(process.execPath, tsc, { cwd: installed.folder }).catch((error) => error);
      expect(stdout).toBe('');
    },
  );

  it('loads, judges, tests and checks rules, and reaches nothing else of the package', async () => {
    const { folder, env } = installed;
    const { stdout } = await run(process.execPath, ['script.mts'], { cwd: folder, env });
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, verdicts: ['match', 'unknown'], missing: 'rules' });
    expect(JSON.parse(stdout).lines).toBeGreaterThan(1);
    const inside = `import('trustward/dist/cycle.js').catch((error) => console.log(error.code))`;
    expect((await run(process.execPath, ['-e', inside], { cwd: folder, env })).stdout).toBe(
      'ERR_PACKAGE_PATH_NOT_EXPORTED\n',
    );
  });
});
