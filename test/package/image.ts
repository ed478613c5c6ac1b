// test package: the image of the Dockerfile, built by Debian's buildah, which needs no daemon. In: the Dockerfile as it is. Out: its
// root as a folder and its configuration. It keeps everything in one temporary folder, and nothing in the machine's own store of images.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../support/built.ts';

/** By the package of Debian that has each. */
const PROGRAMS = {
  buildah: ['buildah'],
  mmdebstrap: ['mmdebstrap'],
  iproute2: ['ip'],
  'util-linux': ['mount', 'nsenter', 'setpriv', 'unshare'],
};

const missing = [
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...Object.entries(PROGRAMS).flatMap(([name, programs]) =>
    programs.every((program) => spawnSync(program, ['--version']).error === undefined) ? [] : [name],
  ),
];

/** For `describe.skipIf`. */
export const cannotBuild = missing.length > 0;
/** The end of a test's title, so that a skipped one says why. */
export const NEEDS_BUILDAH = cannotBuild ? ` (SKIPPED, missing: ${missing.join(', ')})` : '';

/** What `docker inspect` shows as `Config`; times in nanoseconds. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  WorkingDir: string;
  StopSignal: NodeJS.Signals;
  Volumes: Record<string, object>;
  Healthcheck: {
    Test: [kind: string, ...command: string[]];
    Interval: number;
    Timeout: number;
    StartPeriod: number;
    Retries: number;
  };
}

export interface Image {
  config: ImageConfig;
  /** The folder that is its `/`. */
  root: string;
  /** Of its layers, and of those that the Dockerfile adds to the base. */
  bytes: number;
  ownBytes: number;
  baseSeconds: number;
  buildSeconds: number;
  remove(): void;
}

/** @param tag as compose.yaml names it. Errors: buildah's or mmdebstrap's, with their output. */
export function buildImage(tag: string): Image {
  const folder = mkdtempSync(join(tmpdir(), 'trustward-image-'));
  const store = new Store(folder);
  try {
    const [, base = ''] = /^FROM (\S+)/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')) ?? [];
    const baseSeconds = secondsOf(() => makeBase(store));
    const buildSeconds = secondsOf(() => build(store, tag, base));
    const { Config, Manifest } = JSON.parse(store.run('inspect', '--type', 'image', tag)) as Record<string, string>;
    const { layers } = JSON.parse(Manifest as string) as { layers: { size: number }[] };
    const sizes = layers.map(({ size }) => size);
    return {
      config: (JSON.parse(Config as string) as { config: ImageConfig }).config,
      root: store.mounted(store.run('from', '--pull-never', tag).trim()),
      bytes: sum(sizes),
      ownBytes: sum(sizes.slice(1)),
      baseSeconds,
      buildSeconds,
      remove: () => store.remove(),
    };
  } catch (error) {
    store.remove();
    throw error;
  }
}

class Store {
  private readonly where: string[];

  constructor(readonly folder: string) {
    // INVARIANT: the driver is an argument: beside --root, STORAGE_DRIVER is ignored, and overlays would stay mounted.
    const driver = ['--storage-driver', 'vfs'];
    this.where = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run'), ...driver];
  }

  run(...args: string[]): string {
    const { status, stdout, stderr, error } = spawnSync('buildah', [...this.where, ...args], {
      encoding: 'utf8',
      env: { ...process.env, BUILDAH_ISOLATION: 'chroot', TMPDIR: this.folder },
      maxBuffer: 2 ** 26,
    });
    if (status !== 0) throw new Error(`buildah ${args[0]} ended with ${status}: ${stdout}${stderr}`, { cause: error });
    return stdout;
  }

  mounted(container: string): string {
    return this.run('mount', container).trim();
  }

  /** With vfs, buildah's mounts are plain folders. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const BASE = 'localhost/node-base';

/**
 * The place of `node:24-bookworm-slim`, which only a registry has. The same: Debian 12 with its required packages and no
 * documentation, `node` in /usr/local/bin, npm, the user `node` (1000). Not the same: the packages are today's, `node` is that of the
 * package `node` on the npm registry, npm is this machine's, and there is no yarn and no docker-entrypoint.sh, which the Dockerfile does not use.
 */
function makeBase(store: Store): void {
  const container = store.run('from', 'scratch').trim();
  const root = store.mounted(container);
  const node = realpathSync(join(ROOT, 'node_modules/node/bin/node'));
  const npm = dirname(dirname(realpathSync(execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim())));
  const hooks = [
    `cp '${node}' "$1/usr/local/bin/node"`,
    `mkdir -p "$1/usr/local/lib/node_modules" "$1/usr/local/etc"`,
    `cp -R '${npm}' "$1/usr/local/lib/node_modules/npm"`,
    `ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"`,
    'chroot "$1" groupadd --gid 1000 node',
    'chroot "$1" useradd --uid 1000 --gid node --shell /bin/bash --create-home node',
  ];
  // In mounts of its own: if it is ended halfway, what it had mounted is gone as well, and the folder can be removed.
  execFileSync(
    'unshare',
    [
      '--mount',
      'mmdebstrap',
      '--quiet',
      '--variant=minbase',
      ...['doc', 'man', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
      ...hooks.map((hook) => `--customize-hook=${hook}`),
      'bookworm',
      root,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, TMPDIR: store.folder } },
  );
  store.run('umount', container);
  const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  store.run('config', '--env', `PATH=${path}`, '--cmd', 'node', container);
  store.run('commit', '--format', 'docker', '--rm', container, BASE);
}

/**
 * The Dockerfile is read as it is: a digest cannot be given to an image that is made here, so a named build context answers for
 * the name with its digest. Only Docker's own format keeps HEALTHCHECK.
 */
function build(store: Store, tag: string, base: string): void {
  const authorities = '/etc/ssl/certs/ca-certificates.crt';
  // npm's registry and certificates are this machine's, mounted for the build, and no part of the image.
  const settings = join(store.folder, 'npmrc');
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' });
  const knows = existsSync(authorities);
  writeFileSync(settings, `registry=${registry}${knows ? `cafile=${authorities}\n` : ''}update-notifier=false\n`);
  const mounts = [`${settings}:/usr/local/etc/npmrc:ro`, ...(knows ? [`${authorities}:${authorities}:ro`] : [])];
  store.run(
    ...['bud', '--format', 'docker', '--pull-never', '--build-context', `${base}=docker-image://${BASE}`],
    ...mounts.flatMap((mount) => ['--volume', mount]),
    ...['--tag', tag, ROOT],
  );
}

const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0);

function secondsOf(work: () => void): number {
  const started = performance.now();
  work();
  return (performance.now() - started) / 1_000;
}
