// package: the image, compose.yaml and the unit of systemd: nobody is root, nothing is writable that needs not be, settings are those that are read.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { groupsFor } from '../../src/faces/cli/grammar/groups.ts';
import type { Io } from '../../src/faces/cli/io.ts';
import { readConfig } from '../../src/runtime/config/config.ts';
import { PostgresPool } from '../../src/store/postgres/pool.ts';
import { ROOT } from '../support/built.ts';
import { hasNoPostgres, NEEDS_POSTGRES, OWNER, SUPERUSER, startCluster } from '../support/postgres-cluster.ts';
import { namesRead, settingsIn } from '../support/settings.ts';

describe('the image and compose.yaml', () => {
  interface Service {
    user: string;
    read_only: boolean;
    cap_drop: string[];
    security_opt: string[];
    stop_grace_period: string;
    environment?: Record<string, string>;
    volumes?: string[];
    tmpfs: string[];
    ports?: string[];
    profiles?: string[];
    command?: string[];
    healthcheck: { disable?: boolean; test?: string[] };
    secrets?: string[];
    deploy?: { replicas: number };
    image?: string;
    depends_on?: Record<string, { condition: string }>;
  }

  const composeText = readFileSync(join(ROOT, 'compose.yaml'), 'utf8');
  const compose = parse(composeText, { merge: true }) as {
    services: Record<string, Service>;
    secrets: Record<string, { file: string }>;
  };
  const { trustward, console, worker, endpoint, postgres } = compose.services as Record<string, Service> & {
    [name in 'trustward' | 'console' | 'worker' | 'endpoint' | 'postgres']: Service;
  };
  /** Those of the image of this project. */
  const services = Object.entries(compose.services).filter(([name]) => name !== 'postgres');

  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  const [, runs = ''] = dockerfile.split(/^FROM .*$/m).slice(1);
  const lineOf = (word: string) => runs.match(new RegExp(`^${word} +(.*)$`, 'm'))?.[1];

  describe('the image', () => {
    it('runs as a user without rights, writes to one folder, and ends on SIGTERM', () => {
      expect(lineOf('USER')).toBe('1000:1000');
      expect(lineOf('VOLUME')).toBe('/data');
      expect(runs).toContain('install -d -o node -g node -m 0700 /data');
      expect(lineOf('STOPSIGNAL')).toBe('SIGTERM');
      expect(lineOf('ENTRYPOINT')).toBe('["node", "dist/main.js"]');
    });

    it('has a health check, labels, and no development files', () => {
      const check = lineOf('HEALTHCHECK') ?? '';
      const [, , , script = ''] = JSON.parse(`["CMD", ${check.slice(check.indexOf('CMD [') + 5)}`) as string[];
      expect(script).toContain('/healthz');
      expect(runs).toMatch(/org\.opencontainers\.image\.licenses="MIT"/);
      expect(dockerfile).toMatch(/npm prune --omit=dev .*-name '\*\.d\.ts' -o -name \.tsbuildinfo \\\) -delete/);
      const copied = [...runs.matchAll(/^COPY (?:--from=build )?(.*) \S+$/gm)].flatMap(([, from = '']) =>
        from.split(' '),
      );
      expect(copied).toEqual(['/app/node_modules', '/app/dist', 'package.json', 'LICENSE', 'rules']);
    });

    it('names only settings that are read, and no secret', () => {
      expect(namesRead()).toEqual(expect.arrayContaining(settingsIn(dockerfile)));
      expect(dockerfile).not.toMatch(/(KEY|TOKEN)=/);
    });

    it('is built from what .dockerignore lets through', () => {
      const rules = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n');
      expect(rules).toContain('*');
      const used = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
      expect(used.filter((name) => !existsSync(join(ROOT, name)) || !rules.includes(`!${name}`))).toEqual([]);
    });
  });

  it.skipIf(hasNoPostgres)(
    `the script for PostgreSQL makes roles with which the tables can be made${NEEDS_POSTGRES}`,
    async () => {
      const cluster = await startCluster({ isDurable: false });
      try {
        await cluster.query(`ALTER ROLE ${OWNER} RENAME TO another`); // the script's own role has this name
        const password = join(cluster.folder, 'password');
        writeFileSync(password, "a 'quoted' $word");
        const env = {
          PATH: process.env.PATH,
          PGHOST: '127.0.0.1',
          PGPORT: String(cluster.port),
          POSTGRES_USER: SUPERUSER,
        };
        const { status, stderr } = spawnSync('sh', [join(ROOT, 'ops/postgresql/roles.sh')], {
          env: { ...env, TRUSTWARD_DB_PASSWORD_FILE: password },
          encoding: 'utf8',
        });
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        const pool = new PostgresPool(cluster.url('trustward', 'trustward'));
        await pool.migrate();
        await pool.close();
        const { rows } = await cluster.query(
          "SELECT rolsuper, rolcreaterole, rolbypassrls FROM pg_roles WHERE rolname = 'trustward'",
        );
        expect(rows).toEqual([{ rolsuper: false, rolcreaterole: false, rolbypassrls: false }]);
      } finally {
        await cluster.close();
      }
    },
    120_000,
  );

  describe('compose.yaml', () => {
    it.each(services)('lets the service %s do no more than it needs', (_, service) => {
      expect(service).toMatchObject({
        user: '1000:1000',
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        stop_grace_period: '30s',
      });
      expect((service.ports ?? []).filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
      expect(service.tmpfs.some((place) => place.startsWith('/tmp:'))).toBe(true);
    });

    it('gives the daemon its data, its rules read-only and its key as a file', () => {
      expect(trustward.volumes).toEqual(['data:/data', './rules:/app/rules:ro']);
      expect(trustward.environment?.TRUSTWARD_API_KEY_FILE).toBe('/run/secrets/api-key');
      expect(compose.secrets['api-key']).toEqual({ file: './api-key' });
      expect(trustward.healthcheck.disable).toBeUndefined();
      expect(trustward.profiles).toBeUndefined();
    });

    it('starts the console only when it is asked for', () => {
      expect(console.profiles).toEqual(['try']);
      expect(console.command?.[0]).toBe('console');
    });

    it('has two workers and an endpoint on PostgreSQL only when they are asked for, with the same state and secrets as files', () => {
      for (const service of [worker, endpoint, postgres]) expect(service.profiles).toEqual(['many']);
      expect([worker.command, worker.deploy, endpoint.command]).toEqual([['worker'], { replicas: 2 }, ['serve']]);
      const { TRUSTWARD_WORKER_LISTEN: at, TRUSTWARD_ALLOWED_HOSTS: hosts, ...shared } = worker.environment ?? {};
      expect(shared).toEqual(endpoint.environment);
      expect([hosts, worker.healthcheck.test?.join(' ')]).toEqual([
        'worker',
        expect.stringContaining(`127.0.0.1:${at?.split(':').pop()}/healthz`),
      ]);
      expect(worker.volumes).toEqual(endpoint.volumes);
      expect(worker.volumes).toContain('state:/data');
      const { database } = readConfig(
        { ...worker.environment, TRUSTWARD_DB_PASSWORD_FILE: undefined, TRUSTWARD_MODE: undefined },
        {},
        'acme',
      );
      expect(database).toMatchObject({ kind: 'postgres', beside: '/data/acme/trustward', organization: 'acme' });
      expect(worker.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
      expect(new URL((database as { url: string }).url).hostname).toBe('postgres');
      const named = Object.values(compose.services).flatMap(({ secrets = [] }) => secrets);
      expect(Object.keys(compose.secrets).sort()).toEqual([...new Set(named)].sort());
      expect(Object.values(postgres.environment ?? {}).filter((value) => !value.startsWith('/run/secrets/'))).toEqual(
        [],
      );
    });

    it('lets PostgreSQL be reached by the other services alone, and do no more than it needs', () => {
      expect(postgres).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] });
      expect(postgres.ports).toBeUndefined();
      expect(postgres.user).not.toMatch(/^0|root/);
    });

    it('runs commands that there are', async () => {
      const program = new Command('trustward');
      for (const add of await groupsFor(undefined)) add(program, {} as Io, () => async () => {});
      const known = program.commands.map((command) => command.name());
      for (const [, { command = ['serve'] }] of services) expect(known).toContain(command[0]);
    });

    it('names only settings that are read', () => {
      expect(namesRead()).toEqual(expect.arrayContaining(settingsIn(composeText)));
    });

    const docker = spawnSync('docker', ['compose', 'version']).status === 0;
    if (!docker) process.stdout.write('docker compose is not there: compose.yaml is read, and not checked by it\n');
    it.skipIf(!docker)('is what docker compose takes', () => {
      const { status, stderr } = spawnSync(
        'docker',
        ['compose', '--profile', 'try', '--profile', 'many', 'config', '--quiet'],
        {
          cwd: ROOT,
          encoding: 'utf8',
        },
      );
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    });
  });
});

describe('the unit of systemd', () => {
  const UNIT = join(ROOT, 'ops/systemd/trustward.service');
  const EXAMPLE = join(ROOT, 'ops/systemd/trustward.env.example');
  const unit = readFileSync(UNIT, 'utf8');

  /** On the scale of `systemd-analyze security`: 10 is a service without any limit. It was 1.3 with systemd 252. */
  const EXPOSURE_MAX = 1.5;

  const isThere = spawnSync('systemd-analyze', ['--version']).status === 0;
  if (!isThere) process.stdout.write('systemd-analyze is not there: the unit is not verified\n');

  it('of systemd names only settings that are read, and no secret', () => {
    const named = [unit, readFileSync(EXAMPLE, 'utf8')].map(settingsIn);
    for (const names of named) expect(namesRead()).toEqual(expect.arrayContaining(names));
    expect(unit).not.toMatch(/(KEY|TOKEN)=/);
  });

  it('of systemd gives the daemon time to end, and does not restart it after a mistake in its settings', () => {
    const values = new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, key, value]) => [key, value]));
    expect(Number(values.get('TimeoutStopSec'))).toBeGreaterThan(20);
    expect(values.get('Restart')).toBe('on-failure');
    expect(values.get('RestartPreventExitStatus')).toBe('2');
  });

  it.skipIf(!isThere)('of systemd is valid', () => {
    const folder = mkdtempSync(join(tmpdir(), 'trustward-unit-'));
    try {
      const file = join(folder, 'trustward.service');
      // The Node of this machine may be elsewhere: systemd looks whether the program is there.
      writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
        encoding: 'utf8',
      });
      expect({ status, said: `${stdout}${stderr}` }).toEqual({ status: 0, said: '' });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.skipIf(!isThere)(`of systemd leaves an exposure of ${EXPOSURE_MAX} at most`, () => {
    const args = ['security', '--offline=true', '--no-pager', UNIT];
    const { stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
    const found = stdout.match(/Overall exposure level for trustward\.service: ([\d.]+)/)?.[1];
    process.stdout.write(`exposure of the unit: ${found}\n`);
    expect(Number(found)).toBeLessThanOrEqual(EXPOSURE_MAX);
  });

  it('of a worker is that of the daemon, with the settings of many organizations', () => {
    const worker = readFileSync(join(ROOT, 'ops/systemd/trustward-worker.service'), 'utf8');
    const example = readFileSync(join(ROOT, 'ops/systemd/worker.env.example'), 'utf8');
    for (const text of [worker, example]) expect(namesRead()).toEqual(expect.arrayContaining(settingsIn(text)));
    const own = (text: string) =>
      text.split('\n').filter((line) => /^(Protect|Private|Restrict|System|Cap|No|Kill|Lock)/.test(line));
    expect(own(worker)).toEqual(own(unit).filter((line) => line !== 'PrivateUsers=yes'));
    expect(worker).toMatch(/^ExecStart=.* worker$/m);
    expect(worker).not.toMatch(/PASSWORD=|KEY=/);
  });

  it('of systemd leaves what Node and the daemon need: memory that it writes and runs, and the id of the boot', () => {
    expect(unit).not.toMatch(/^MemoryDenyWriteExecute=(yes|true)/m);
    expect(unit).not.toMatch(/^ProcSubset=pid/m);
  });
});
