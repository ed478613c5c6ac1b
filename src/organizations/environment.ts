// organizations: one organization's settings over those of the environment → what its configuration is read from. In: a file that was read, the
// environment. Out: an environment of its own, or a checked configuration; a mistake is told with the key of the file.
import { createHash } from 'node:crypto';
import { type Config, type Environment, type MayLack, readConfig, webhookFaultsIn } from '../config/config.ts';
import type { Flags } from '../config/database-path.ts';
import { faultLine, NameReader, type SettingFault, SettingsError } from '../config/name-reader.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import { leastMode, MODES, type Mode } from '../domain/mode.ts';
import { problemLine } from '../evaluate/index.ts';
import type { OrganizationFile, OrganizationProblem, SettingsOfFile } from './organization-file.ts';
import { KEY_OF, PLACES } from './settings.ts';

/**
 * INVARIANT: never those of the environment: a credential of one organization must not reach the server of another, and a heartbeat that all
 * send would hide that one is silent.
 */
const OWN_ALONE = [
  'TRUSTWARD_API_URL',
  'TRUSTWARD_API_KEY',
  'TRUSTWARD_API_KEY_FILE',
  'TRUSTWARD_REFRESH_TOKEN',
  'TRUSTWARD_REFRESH_TOKEN_FILE',
  'TRUSTWARD_ADMIN_TOKEN',
  'TRUSTWARD_ADMIN_TOKEN_FILE',
  'TRUSTWARD_RULES',
  'TRUSTWARD_HEARTBEAT_URL',
  'TRUSTWARD_HEARTBEAT_URL_FILE',
];
/** Of the whole installation: they are checked once, and not for each organization. */
const OF_ALL = [
  'TRUSTWARD_ORGANIZATIONS',
  'TRUSTWARD_DB',
  'TRUSTWARD_STATE',
  'TRUSTWARD_DB_PASSWORD',
  'TRUSTWARD_DB_PASSWORD_FILE',
  'TRUSTWARD_BACKUP',
];
const MODE = 'TRUSTWARD_MODE';
const MODE_DEFAULT = 'dry-run';

/** The environment's settings are the defaults of every organization; its mode is the most that any may do. */
export function environmentOf({ settings }: Pick<OrganizationFile, 'settings'>, base: Environment): Environment {
  const own = settings.get(MODE) ?? MODE_DEFAULT;
  const most = base[MODE]?.trim() || undefined;
  const mode = isMode(own) && most !== undefined ? (isMode(most) ? leastMode(own, most) : most) : own;
  const inherited = Object.entries(base).filter(([name]) => !OWN_ALONE.includes(name));
  return { ...Object.fromEntries(inherited), ...Object.fromEntries(settings), [MODE]: mode };
}

function isMode(text: string): text is Mode {
  return text !== 'off' && MODES.some((mode) => mode === text);
}

/**
 * `seen`: what it is read from. `mayLack`: as for `readConfig`. Errors: AppError `config` with the place of each mistake in the organization's
 * file, or the name of the setting of the environment.
 */
export function configOf(
  organization: OrganizationFile,
  base: Environment,
  flags: Flags = {},
  seen: (env: Environment) => Environment = (env) => env,
  mayLack: MayLack = [],
): Config {
  const { org: _, ...others } = flags;
  const env = seen(environmentOf(organization, base));
  const found = readWith(organization, () => readConfig(env, others, organization.id, mayLack));
  if ('config' in found) return found.config;
  const { problems, environment } = found;
  throw new AppError('config', [...problems.map(problemLine), ...environment].join('\n'));
}

export interface SettingFaults {
  problems: OrganizationProblem[];
  /** Of settings that the environment has: for every organization the same. */
  environment: string[];
}

/** Everything but the files of secrets, and what the whole installation has: a lost credential is a matter of one organization. */
export function checkSettings(organization: OrganizationFile, base: Environment): { config: Config } | SettingFaults {
  const env = withoutSecrets(organization, base);
  return readWith(organization, () => readConfig(env, {}, undefined, ['webhook_secrets']));
}

/** Mistakes in the settings of a file that has others: what each must have is checked with its form. */
export function checkRest(rest: SettingsOfFile, base: Environment): OrganizationProblem[] {
  const { TRUSTWARD_REFRESH_TOKEN: _, ...env } = withoutSecrets(rest, base);
  const complete = { TRUSTWARD_API_URL: 'https://not-given.example', ...env, TRUSTWARD_API_KEY: 'not-read' };
  const checked = readWith(rest, () => readConfig(complete));
  return 'config' in checked ? [] : checked.problems;
}

function withoutSecrets(organization: SettingsOfFile, base: Environment): Environment {
  const env = environmentOf(organization, base);
  for (const name of OF_ALL) delete env[name];
  for (const { setting } of PLACES) {
    if (setting.kind !== 'secret' || env[setting.name] === undefined) continue;
    delete env[setting.name];
    if (!setting.name.includes('HEARTBEAT')) env[setting.name.replace(/_FILE$/, '')] = 'not-read';
  }
  return env;
}

const SECRETS = PLACES.filter(({ setting }) => setting.kind === 'secret').map(({ setting }) => setting.name);

/** What keeps a credential of this organization from being read; empty when nothing does. It repeats none. */
export function credentialFaults(organization: OrganizationFile): string[] {
  const names = new NameReader(Object.fromEntries(organization.settings));
  for (const name of SECRETS) if (organization.settings.has(name)) names.secret(name.replace(/_FILE$/, ''));
  const found = readWith(organization, () => names.finish());
  return 'config' in found ? [] : found.problems.map(({ message }) => message);
}

/** What is wrong with its webhooks, whose file may be another one than that of the organization; empty when nothing is. */
export function webhookFaults(organization: OrganizationFile, base: Environment): string[] {
  return webhookFaultsIn(environmentOf(organization, base));
}

/** The credentials of the organization that the environment configures. */
export function credentialFaultsIn(env: Environment): string[] {
  const names = new NameReader(env);
  for (const name of SECRETS) if (names.text(name) !== undefined) names.secret(name.replace(/_FILE$/, ''));
  try {
    names.finish();
    return [];
  } catch (error) {
    return lineOf(error).split('\n');
  }
}

/** The credential that the API is called with, so that equal ones are found: nothing can be learned from it. Undefined: it cannot be read. */
export function credentialDigest({ settings }: OrganizationFile): string | undefined {
  const names = new NameReader(Object.fromEntries(settings), ['secrets']);
  const secret = names.secret('TRUSTWARD_API_KEY') ?? names.secret('TRUSTWARD_REFRESH_TOKEN');
  return secret === undefined ? undefined : createHash('sha256').update(secret).digest('hex');
}

function readWith<T>(organization: SettingsOfFile, read: () => T): { config: T } | SettingFaults {
  try {
    return { config: read() };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'config') throw error;
    const faults: SettingFaults = { problems: [], environment: [] };
    if (!(error instanceof SettingsError)) faults.environment.push(error.message);
    for (const fault of error instanceof SettingsError ? error.faults : []) {
      const problem = problemOf(organization, fault);
      if (problem) faults.problems.push(problem);
      else faults.environment.push(faultLine(fault));
    }
    return faults;
  }
}

const NAME = /\bTRUSTWARD_[A-Z_]*[A-Z]\b/g;

/** Undefined for a setting that the file does not have. */
function problemOf(
  { file, settings, positionOf }: SettingsOfFile,
  { of, text }: SettingFault,
): OrganizationProblem | undefined {
  const isOwn = (name: string) => settings.has(name) && (name !== MODE || !isMode(settings.get(MODE) ?? ''));
  // A secret may be given by its file.
  const name = [of]
    .flat()
    .flatMap((one) => [one, `${one}_FILE`])
    .find(isOwn);
  const place = PLACES.find(({ setting }) => setting.name === name)?.place;
  if (!place) return undefined;
  const message = text.replaceAll(NAME, (name) => {
    const key = KEY_OF.get(name) ?? KEY_OF.get(`${name}_FILE`);
    return key === undefined ? name : `\`${key}\``;
  });
  return { file, ...positionOf(place), code: 'value', message };
}
