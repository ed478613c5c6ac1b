// test package: a service of compose.yaml, as far as it can be started without a container engine. In: compose.yaml, the folder that it
// lies in, variables of the shell. Out: what a container gets, and the settings that nothing here can apply, by name.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../support/built.ts';

export interface Mount {
  /** A file or folder; undefined: a folder in memory. */
  from: string | undefined;
  to: string;
  /** As mount(8) takes them. */
  options: string;
}

/** What a container gets beside its image. */
export interface Settings {
  user: string | undefined;
  command: string[] | undefined;
  environment: Record<string, string>;
  mounts: Mount[];
  isReadOnly: boolean;
  hasNoCapabilities: boolean;
  hasNoNewPrivileges: boolean;
  processesMax: number | undefined;
  stopWithinMs: number;
  /** Of the image's own health check, in ms. */
  health: { timeout?: number; start_period?: number; interval?: number; retries?: number; isOff?: boolean };
  /** The names of the settings that are not applied. */
  left: string[];
}

interface Compose {
  services: Record<string, Record<string, unknown>>;
  secrets: Record<string, { file: string }>;
}

/** @param project has the files that compose.yaml names, and `volumes/`. */
export function readService(name: string, project: string, shell: Record<string, string>): Settings {
  const compose = parse(readFileSync(join(ROOT, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
  const settings: Settings = {
    user: undefined,
    command: undefined,
    environment: {},
    mounts: [],
    isReadOnly: false,
    hasNoCapabilities: false,
    hasNoNewPrivileges: false,
    processesMax: undefined,
    stopWithinMs: 10_000,
    health: {},
    left: [],
  };
  for (const [key, value] of Object.entries(compose.services[name] ?? {}))
    if (!isApplied(key, filled(value, shell), settings, project, compose)) settings.left.push(key);
  return settings;
}

/** What the image is built from and how it is named is applied by the build, and a profile by choosing the service. */
const APPLIED_ELSEWHERE = ['build', 'image', 'profiles'];

/** Puts one setting in, if it can be. */
function isApplied(key: string, value: unknown, into: Settings, project: string, { secrets }: Compose): boolean {
  const texts = value as string[];
  switch (key) {
    case 'user':
      into.user = value as string;
      return true;
    case 'command':
      into.command = texts;
      return true;
    case 'environment':
      into.environment = value as Record<string, string>;
      return true;
    case 'read_only':
      into.isReadOnly = value as boolean;
      return true;
    case 'cap_drop':
      into.hasNoCapabilities = texts.join() === 'ALL';
      return into.hasNoCapabilities;
    case 'security_opt':
      into.hasNoNewPrivileges = texts.join() === 'no-new-privileges:true';
      return into.hasNoNewPrivileges;
    case 'pids_limit':
      into.processesMax = value as number;
      return true;
    case 'stop_grace_period':
      into.stopWithinMs = milliseconds(value as string);
      return true;
    case 'tmpfs':
      into.mounts.push(...texts.map(inMemory));
      return true;
    case 'volumes':
      into.mounts.push(...texts.map((text) => volume(text, project)));
      return true;
    case 'secrets':
      for (const secret of texts) {
        const from = join(project, secrets[secret]?.file ?? secret);
        into.mounts.push({ from, to: `/run/secrets/${secret}`, options: 'ro,nosuid,nodev' });
      }
      return true;
    case 'healthcheck':
      return isHealthApplied(value as Record<string, string | number | boolean>, into);
    default:
      return APPLIED_ELSEWHERE.includes(key);
  }
}

/** Nobody here repeats a check: how often it is made, and how often it may fail, is left. */
function isHealthApplied(value: Record<string, string | number | boolean>, into: Settings): boolean {
  for (const [key, of] of Object.entries(value)) {
    if (key === 'disable') into.health.isOff = of === true;
    else if (key === 'retries') into.health.retries = of as number;
    else if (key === 'test') return false;
    else into.health[key as 'interval'] = milliseconds(of as string);
  }
  into.left.push(...['interval', 'retries'].filter((key) => key in value).map((key) => `healthcheck.${key}`));
  return true;
}

function inMemory(text: string): Mount {
  const [to = '', options = ''] = text.split(':');
  return { from: undefined, to, options };
}

function volume(text: string, project: string): Mount {
  const [from = '', to = '', mode = 'rw'] = text.split(':');
  const folder = from.startsWith('.') ? from : join('volumes', from);
  return { from: join(project, folder), to, options: `${mode},nosuid,nodev` };
}

/** `${NAME:-default}`, in any text. */
function filled(value: unknown, shell: Record<string, string>): unknown {
  if (typeof value === 'string')
    return value.replace(/\$\{(\w+):-([^}]*)\}/g, (_, name: string, otherwise: string) => shell[name] || otherwise);
  if (Array.isArray(value)) return value.map((one) => filled(one, shell));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, shell)]));
}

/** `30s`. */
function milliseconds(text: string): number {
  return Number(text.replace(/s$/, '')) * 1_000;
}
