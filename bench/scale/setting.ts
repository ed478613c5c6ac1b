// bench: an installation of many organizations in a folder: a real PostgreSQL, a file, a rule of its own and an API for each organization, and
// workers as they are built. In: how many, and how often each runs. Out: the processes, and what they have used so far.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cluster, startCluster } from '../../test/support/postgres-cluster.ts';
import { BAN_RULE } from '../contain/ban-rule.ts';
import { rulesIn, started } from '../processes.ts';
import type { Asked, Seen } from './platform.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const TICK_MS = 10;

export interface Setting {
  folder: string;
  organizations: number;
  devices: number;
  workers: number;
  schedule(number: number): string;
  history: string;
  /** An event comes in each organization. */
  eventEveryMs: number;
}

/** Since their begin. */
export interface Used {
  workersMs: number;
  postgresMs: number;
  apisMs: number;
  transactions: number;
  /** Of all threads of the workers. */
  wakeUps: number;
  /** Resident, of the largest worker; of all processes of PostgreSQL together. */
  workerMb: number;
  postgresMb: number;
}

export const idOf = (number: number): string => `org-${String(number).padStart(3, '0')}`;

export class Installation {
  private constructor(
    readonly cluster: Cluster,
    readonly database: string,
    private readonly platform: ChildProcess,
    private readonly workers: readonly ChildProcess[],
    private readonly folder: string,
  ) {}

  static async start(setting: Setting): Promise<Installation> {
    const { folder, organizations, devices, workers, eventEveryMs } = setting;
    built();
    const cluster = await startCluster({ settings: { shared_buffers: '256MB', max_wal_size: '1GB' } });
    const database = await cluster.createDatabase();
    const [platform, [url = '']] = await started(
      './scale/platform.ts',
      [organizations, devices, eventEveryMs].map(String),
    );
    writeOrganizations(setting, url);
    const env = {
      ...process.env,
      TRUSTWARD_DB: cluster.url(database),
      TRUSTWARD_STATE: join(folder, 'state'),
      TRUSTWARD_ORGANIZATIONS: join(folder, 'organizations'),
      TRUSTWARD_LOG_LEVEL: 'warn',
    };
    const started_ = Array.from({ length: workers }, (_, number) => {
      const log = openSync(join(folder, `worker-${number}.log`), 'w');
      return spawn(process.execPath, [join(ROOT, 'dist/main.js'), 'worker'], { env, stdio: ['ignore', log, log] });
    });
    return new Installation(cluster, database, platform, started_, folder);
  }

  async rows<T>(sql: string): Promise<T[]> {
    return (await this.cluster.query(sql, this.database)).rows as T[];
  }

  tell(asked: Asked): void {
    this.platform.send(asked);
  }

  async seen(): Promise<Seen> {
    this.tell('seen');
    const [seen] = (await once(this.platform, 'message')) as [Seen];
    return seen;
  }

  async used(): Promise<Used> {
    const [row] = await this.rows<{ n: string }>(
      'SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = current_database()',
    );
    const postgres = processesOf(this.cluster.pid());
    return {
      workersMs: sum(this.workers.map(({ pid }) => processorMs(pid as number))),
      postgresMs: sum(postgres.map((pid) => processorMs(pid))),
      apisMs: (await this.seen()).cpuMs,
      transactions: Number(row?.n),
      wakeUps: sum(this.workers.map(({ pid }) => wakeUpsOf(pid as number))),
      workerMb: Math.max(...this.workers.map(({ pid }) => memoryMb(pid as number, 'VmRSS'))),
      postgresMb: sum(postgres.map((pid) => memoryMb(pid, 'RssAnon'))) + memoryMb(postgres[0] as number, 'RssShmem'),
    };
  }

  /** The last lines of the workers' logs: with one for each failed job. */
  logs(): string[] {
    return this.workers.flatMap((_, number) =>
      readFileSync(join(this.folder, `worker-${number}.log`), 'utf8')
        .trim()
        .split('\n')
        .slice(-5),
    );
  }

  async close(): Promise<void> {
    const ended = this.workers.filter(({ exitCode }) => exitCode === null).map((worker) => once(worker, 'exit'));
    for (const worker of this.workers) worker.kill('SIGTERM');
    await Promise.all(ended);
    this.platform.disconnect();
    await this.cluster.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** What is measured is what is there now. */
function built(): void {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the build failed');
}

/** Fifty shared rules and one that bans; each organization has one of its own beside them. */
function writeOrganizations({ folder, organizations, schedule, history }: Setting, url: string): void {
  const shared = rulesIn(folder);
  writeFileSync(join(shared, 'ban.json'), JSON.stringify({ ...BAN_RULE, limits: { max: 20, percent: 2 } }));
  for (const name of ['organizations', 'own', 'state']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'api.key'), 'key\n', { mode: 0o600 });
  for (let number = 0; number < organizations; number += 1) {
    const id = idOf(number);
    mkdirSync(join(folder, 'own', id));
    writeFileSync(join(folder, 'own', id, 'own.json'), ownRule(number));
    const lines = [
      `id: ${id}`,
      `name: Organization ${number}`,
      `api: { url: '${url}/o/${number}', api_key_file: ../api.key }`,
      `rules: [../rules, ../own/${id}]`,
      'mode: enforce',
      `schedule: '${schedule(number)}'`,
      `history: ${history}`,
      '',
    ];
    writeFileSync(join(folder, 'organizations', `${id}.yaml`), lines.join('\n'));
  }
}

function ownRule(number: number): string {
  return JSON.stringify({
    id: 'own-rule',
    title: `A rule of organization ${number}`,
    severity: 'low',
    subject: 'device',
    when: { '==': [{ var: 'DeviceFriendlyName' }, `device of organization ${number}`] },
    then: 'notify',
    mode: 'approve',
    tests: [{ name: 'sample', given: {}, expect: 'no_match' }],
  });
}

/** The server itself first; those that ended are in its own times. */
function processesOf(server: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return [server, ...all.map(Number).filter((pid) => statOf(pid)[1] === server)];
}

function processorMs(pid: number): number {
  const [, , ...rest] = statOf(pid);
  return TICK_MS * sum(rest.slice(9, 13));
}

/** The fields after the name: state, parent, …, user, system, and both of ended children at 11 to 14. Empty for one that ended. */
function statOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number);
  } catch {
    return [];
  }
}

/** How often its threads have waited for something. */
function wakeUpsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const waits = (thread: string) =>
    /^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))?.[1];
  return sum(threads.map((thread) => Number(waits(thread))));
}

function memoryMb(pid: number, name: 'VmRSS' | 'RssAnon' | 'RssShmem'): number {
  try {
    return (
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_000
    );
  } catch {
    return 0;
  }
}

function sum(all: readonly number[]): number {
  return all.reduce((total, one) => total + one, 0);
}
