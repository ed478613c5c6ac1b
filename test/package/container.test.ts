// package: the image and compose.yaml: nobody is root, nothing is writable that needs not be, and all settings named are read.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT } from '../support/built.ts';
import { namesRead, settingsIn } from '../support/settings.ts';

interface Service {
  user: string;
  read_only: boolean;
  cap_drop: string[];
  security_opt: string[];
  stop_grace_period: string;
  environment?: Record<string, string>;
  volumes?: string[];
  tmpfs: string[];
  ports: string[];
  profiles?: string[];
  command?: string[];
  healthcheck: { disable?: boolean };
}

const composeText = readFileSync(join(ROOT, 'compose.yaml'), 'utf8');
const compose = parse(composeText, { merge: true }) as {
  services: Record<string, Service>;
  secrets: Record<string, { file: string }>;
};
const services = Object.entries(compose.services);
const { trustward, console } = compose.services as { trustward: Service; console: Service };

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

describe('compose.yaml', () => {
  it.each(services)('lets the service %s do no more than it needs', (_, service) => {
    expect(service).toMatchObject({
      user: '1000:1000',
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      stop_grace_period: '30s',
    });
    expect(service.ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
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

  it('names only settings that are read', () => {
    expect(namesRead()).toEqual(expect.arrayContaining(settingsIn(composeText)));
  });

  const docker = spawnSync('docker', ['compose', 'version']).status === 0;
  if (!docker) process.stdout.write('docker compose is not there: compose.yaml is read, and not checked by it\n');
  it.skipIf(!docker)('is what docker compose takes', () => {
    const { status, stderr } = spawnSync('docker', ['compose', '--profile', 'try', 'config', '--quiet'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});
