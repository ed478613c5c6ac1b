// test package: packs a copy of the project as a clean clone has it, and installs the package in an empty folder.
// In: the sources as they are. Out: the list of the package and a folder with it. It leaves the project's own `dist/` alone.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ROOT } from '../support/built.ts';

/** What `npm pack` reads, or the build before it. */
const PACKED = [
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.types.json',
  'src',
  'rules',
  'docs',
  'ops',
  '.ci',
];
const TEXTS = ['README.md', 'SECURITY.md', 'CHANGELOG.md', 'LICENSE'];

export interface Packed {
  filename: string;
  size: number;
  unpackedSize: number;
  files: { path: string; size: number; mode: number }[];
}

export interface Installed {
  packed: Packed;
  /** The folder of the project that uses the package. */
  folder: string;
  /** Whether npm installed it, with dependencies of the registry; else those of this project are linked. */
  byNpm: boolean;
  /** What a process in the folder gets: the Node that runs the tests. */
  env: Record<string, string>;
  remove(): void;
}

export function packAndInstall(): Installed {
  const root = mkdtempSync(join(tmpdir(), 'trustward-package-'));
  const { PATH = '', HOME = '' } = process.env;
  const env = { PATH: `${dirname(process.execPath)}${delimiter}${PATH}`, HOME };
  const packed = pack(join(root, 'clone'), root, env);
  const folder = join(root, 'empty');
  mkdirSync(folder);
  const tarball = join(root, packed.filename);
  const byNpm = isInstalledByNpm(tarball, folder, env);
  if (!byNpm) link(tarball, folder);
  return { packed, folder, byNpm, env, remove: () => rmSync(root, { recursive: true, force: true }) };
}

function pack(clone: string, to: string, env: Record<string, string>): Packed {
  mkdirSync(clone);
  for (const name of [...PACKED, ...TEXTS])
    if (existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(clone, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  const answer = execFileSync('npm', ['pack', '--silent', '--json', '--pack-destination', to], {
    cwd: clone,
    env,
    encoding: 'utf8',
  });
  const [packed] = JSON.parse(answer) as [Packed];
  return packed;
}

function isInstalledByNpm(tarball: string, folder: string, env: Record<string, string>): boolean {
  writeFileSync(join(folder, 'package.json'), '{"name": "empty", "version": "1.0.0", "private": true}\n');
  const quick = [
    '--prefer-offline',
    '--fetch-retries=0',
    '--fetch-timeout=10000',
    '--no-audit',
    '--no-fund',
    '--silent',
  ];
  try {
    execFileSync('npm', ['install', ...quick, tarball], { cwd: folder, env, stdio: 'ignore', timeout: 120_000 });
    return true;
  } catch {
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
    return false;
  }
}

function link(tarball: string, folder: string): void {
  const place = join(folder, 'node_modules/trustward');
  mkdirSync(place, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', place, '--strip-components=1']);
  symlinkSync(join(ROOT, 'node_modules'), join(place, 'node_modules'));
  mkdirSync(join(folder, 'node_modules/.bin'));
  symlinkSync('../trustward/dist/main.js', join(folder, 'node_modules/.bin/trustward'));
}
