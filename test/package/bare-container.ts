// test package: a container without a container engine: namespaces, mounts and rights of the kernel, by util-linux. In: an image as
// a folder, settings. Out: a process that is number 1 of its own namespace. INVARIANT: all of it ends when the test does.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, follow, type Started } from '../support/trustward.ts';
import type { Settings } from './compose-service.ts';
import type { Image } from './image.ts';

/** Whoever starts it ends, so does it. */
const ENDS_WITH_US = ['setpriv', '--pdeathsig', 'KILL'];

/** A network with a loopback interface and nothing else. */
export interface Network {
  /** A program of this machine in it. */
  within(program: string[]): string[];
  close(): void;
}

export async function startNetwork(): Promise<Network> {
  const [program = '', ...args] = [...ENDS_WITH_US, 'unshare', '--net', 'sh', '-c'];
  const holder = spawn(program, [...args, 'ip link set lo up && echo up && exec sleep infinity'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await follow(holder).says('up');
  return {
    within: (inside) => [...ENDS_WITH_US, 'nsenter', `--net=/proc/${holder.pid}/ns/net`, ...inside],
    close: () => void holder.kill('SIGKILL'),
  };
}

export interface Container extends Started {
  /** A program of the image in the running container, as `docker exec` runs it. */
  exec(command: string[], timeoutMs?: number): Ended;
  /** The status of its first process, by the names of proc(5). */
  status(): Map<string, string>;
  /** As `docker stop`: the signal of the image, and SIGKILL after the time that the settings grant. */
  stop(): Promise<Ended & { tookSeconds: number }>;
}

/** @param command instead of the entry point and its command. */
export function startContainer(image: Image, settings: Settings, network: Network, command?: string[]): Container {
  const program = command ?? [...image.config.Entrypoint, ...(settings.command ?? image.config.Cmd)];
  const limit = settings.processesMax === undefined ? undefined : limitProcesses(settings.processesMax);
  if (settings.processesMax !== undefined && !limit) settings.left.push('pids_limit');
  const script = [
    'set -e',
    ...(limit ? [`echo 0 > ${quoted(join(limit, 'cgroup.procs'))}`] : []),
    ...mountsOf(image, settings),
    `exec chroot ${[image.root, ...asUser(image, settings, program)].map(quoted).join(' ')}`,
  ];
  const namespaces = ['unshare', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
  const [name = '', ...args] = network.within([...namespaces, 'sh', '-c', script.join('\n')]);
  const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: process.env.PATH } });
  const started = follow(child);
  const ended = started.ended.finally(() => limit && removeGroup(limit));
  return {
    ...started,
    ended,
    exec: (inside, timeoutMs) => exec(first(child), image, settings, inside, timeoutMs),
    status: () => statusOf(first(child)),
    stop: async () => {
      const since = performance.now();
      process.kill(first(child), image.config.StopSignal);
      const late = setTimeout(() => process.kill(first(child), 'SIGKILL'), settings.stopWithinMs);
      const all = await ended;
      clearTimeout(late);
      return { ...all, tookSeconds: (performance.now() - since) / 1_000 };
    },
  };
}

/** A named volume begins as what the image has there, with its owner and mode. */
export function makeVolume(image: Image, place: string, folder: string): void {
  cpSync(join(image.root, place), folder, { recursive: true, preserveTimestamps: true });
  const own = ['--reference', join(image.root, place), folder];
  for (const program of ['chown', 'chmod']) spawnSync(program, own);
}

function exec(pid: number, image: Image, settings: Settings, command: string[], timeoutMs = 60_000): Ended {
  const namespaces = ['--mount', '--pid', '--net', '--ipc', '--uts', '--root'];
  const args = ['--target', String(pid), ...namespaces, ...asUser(image, settings, command)];
  const { status, signal, stdout, stderr } = spawnSync('nsenter', args, {
    encoding: 'utf8',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    env: { PATH: process.env.PATH },
  });
  return { code: status, signal, out: stdout, err: stderr };
}

/** By programs of the image, each of which becomes the next: the last one is the process that was started. */
function asUser(image: Image, settings: Settings, command: string[]): string[] {
  const [uid = '', gid = uid] = (settings.user ?? image.config.User).split(':');
  const variables = { HOME: '/home/node', ...environmentOf(image), ...settings.environment };
  return [
    ...['/usr/bin/env', '--ignore-environment', `--chdir=${image.config.WorkingDir}`],
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ...['setpriv', '--reuid', uid, '--regid', gid, '--clear-groups'],
    ...(settings.hasNoCapabilities ? ['--bounding-set', '-all', '--inh-caps', '-all', '--ambient-caps', '-all'] : []),
    ...(settings.hasNoNewPrivileges ? ['--no-new-privs'] : []),
    ...['--pdeathsig', 'KILL', ...command],
  ];
}

function environmentOf({ config }: Image): Record<string, string> {
  return Object.fromEntries(
    config.Env.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]),
  );
}

const DEVICES = ['null', 'zero', 'full', 'random', 'urandom'];

function mountsOf({ root }: Image, { mounts, isReadOnly }: Settings): string[] {
  const at = (path: string) => join(root, path);
  const mount = (...args: string[]) => ['mount', ...args].map(quoted).join(' ');
  for (const name of DEVICES) makePlace('/dev/null', at(`/dev/${name}`));
  for (const { from, to } of mounts) makePlace(from, at(to));
  return [
    mount('--bind', root, root),
    mount('-t', 'proc', '-o', 'nosuid,nodev,noexec', 'proc', at('/proc')),
    ...DEVICES.map((name) => mount('--bind', `/dev/${name}`, at(`/dev/${name}`))),
    ...mounts.flatMap(({ from, to, options }) =>
      from === undefined
        ? [mount('-t', 'tmpfs', '-o', options, 'tmpfs', at(to))]
        : [mount('--bind', from, at(to)), mount('-o', `remount,bind,${options}`, at(to))],
    ),
    ...(isReadOnly ? [mount('-o', 'remount,bind,ro', root)] : []),
  ];
}

/** An engine makes the places to mount on as well, before the root becomes read-only. */
function makePlace(from: string | undefined, to: string): void {
  if (existsSync(to)) return;
  const isFolder = from === undefined || statSync(from).isDirectory();
  mkdirSync(isFolder ? to : dirname(to), { recursive: true });
  if (!isFolder) writeFileSync(to, '');
}

let groups = 0;

/** A group of the kernel's controller of processes, of either version; undefined when none can be made here. */
function limitProcesses(max: number): string | undefined {
  const parent = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find((path) => existsSync(path)) ?? '';
  groups += 1;
  const group = join(parent, `trustward-image-${process.pid}-${groups}`);
  try {
    mkdirSync(group);
  } catch {
    return undefined;
  }
  try {
    writeFileSync(join(group, 'pids.max'), String(max), { flag: 'r+' });
    return group;
  } catch {
    rmdirSync(group);
    return undefined;
  }
}

/** A process that was killed may not be gone yet when its end is known. */
async function removeGroup(group: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      rmdirSync(group);
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(20);
    }
  }
}

/** As the machine counts processes. */
function first({ pid }: ChildProcess): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  if (!child) throw new Error('the container has no process');
  return Number(child);
}

function statusOf(pid: number): Map<string, string> {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return new Map([...text.matchAll(/^(\w+):\s+(.*)$/gm)].map(([, name = '', value = '']) => [name, value]));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
