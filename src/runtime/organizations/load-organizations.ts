// organizations: the folder of organizations → all of them, or every mistake of every file: the set is loaded whole or not at all. In: a folder, the
// environment. Out: organizations in the order of their ids. It opens no credential: one that is lost is a matter of its organization alone.
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { leastMode, MODES, type Mode } from '../../domain/rule.ts';
import { refusalText } from '../../faces/report/fact-text.ts';
import { BoundedRead } from '../../rules/active/rule-holder.ts';
import { byPosition, problemLine } from '../../rules/language/problem.ts';
import { readRuleFile } from '../../rules/load/rule-text.ts';
import { type Config, readConfig, webhookFaultsIn } from '../config/config.ts';
import {
  type Environment,
  type Flags,
  faultLine,
  folderFault,
  type MayLack,
  NameReader,
  ORGANIZATION_FILE,
  type SettingFault,
  SettingsError,
} from '../config/name-reader.ts';
import {
  KEY_OF,
  type OrganizationFile,
  type OrganizationProblem,
  PLACES,
  readOrganization,
  type SettingsOfFile,
} from './organization-file.ts';

// One organization's settings over those of the environment → what its configuration is read from.

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
  'TRUSTWARD_SOURCES',
  'TRUSTWARD_SIGNALS',
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
const OF_SIGN_IN = /^TRUSTWARD_(OIDC_|LINKS$)/;
const MODE = 'TRUSTWARD_MODE';
const MODE_DEFAULT = 'dry-run';

/** The environment's settings are the defaults of every organization; its mode is the most that any may do. */
export function environmentOf({ settings }: Pick<OrganizationFile, 'settings'>, base: Environment): Environment {
  const own = settings.get(MODE) ?? MODE_DEFAULT;
  const most = base[MODE]?.trim() || undefined;
  const mode = isMode(own) && most !== undefined ? (isMode(most) ? leastMode(own, most) : most) : own;
  // A credential of its own, in a file, takes the place of one that the environment has as a text.
  const inherited = Object.entries(base).filter(
    ([name]) => !OWN_ALONE.includes(name) && !/^(SOURCE|SIGNAL)_/.test(name) && !settings.has(`${name}_FILE`),
  );
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

interface SettingFaults {
  problems: OrganizationProblem[];
  /** Of settings that the environment has: for every organization the same. */
  environment: string[];
}

/** Everything but the files of secrets, and what the whole installation has: a lost credential is a matter of one organization. */
function checkSettings(organization: OrganizationFile, base: Environment): { config: Config } | SettingFaults {
  const env = withoutSecrets(organization, base);
  return readWith(organization, () => readConfig(env, {}, undefined, ['webhook_secrets']));
}

/** Mistakes in the settings of a file that has others: what each must have is checked with its form. */
function checkRest(rest: SettingsOfFile, base: Environment): OrganizationProblem[] {
  const { TRUSTWARD_REFRESH_TOKEN: _, ...env } = withoutSecrets(rest, base);
  const complete = { TRUSTWARD_API_URL: 'https://not-given.example', ...env, TRUSTWARD_API_KEY: 'not-read' };
  const checked = readWith(rest, () => readConfig(complete));
  return 'config' in checked ? [] : checked.problems;
}

function withoutSecrets(organization: SettingsOfFile, base: Environment): Environment {
  const env = environmentOf(organization, base);
  for (const name of Object.keys(env)) if (OF_ALL.includes(name) || OF_SIGN_IN.test(name)) delete env[name];
  for (const { setting } of PLACES) {
    if (setting.kind !== 'secret' || env[setting.name] === undefined) continue;
    delete env[setting.name];
    if (!/HEARTBEAT|SMTP/.test(setting.name)) env[setting.name.replace(/_FILE$/, '')] = 'not-read';
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

export interface Organization extends OrganizationFile {
  /** What is known of its configuration without a credential. */
  outline: Pick<Config, 'lists' | 'mode' | 'schedule' | 'watchMs' | 'rulesDir' | 'rulesSigners'> & {
    address: string;
    webhooks: readonly string[];
    /** It has a mail server. */
    mails: boolean;
    readsSources: boolean;
    asksForSignals: boolean;
  };
}

interface OrganizationSet {
  organizations: Organization[];
  problems: OrganizationProblem[];
  /** Mistakes in settings of the environment, which every organization has. */
  environment: string[];
}

const FILES_MAX = 10_000;
/** Waited for side by side: on a network mount each answer takes its time. */
const AT_ONCE = 32;

/** Every mistake, one per line. Errors: AppError `config`; of `signal` between two files. */
export async function loadOrganizations(
  folder: string,
  base: Environment,
  signal?: AbortSignal,
): Promise<Organization[]> {
  const { organizations, problems, environment } = await readOrganizations(folder, base, signal);
  const lines = [...problems.map(problemLine), ...environment];
  if (lines.length > 0) throw new AppError('config', lines.join('\n'));
  if (organizations.length > 0) return organizations;
  throw new AppError('config', `there is no organization in \`${folder}\`: add a file such as acme.yaml`);
}

/** One, whatever is wrong with the others. Errors: AppError `config` with every mistake of its file. */
export async function readOneOrganization(folder: string, id: string): Promise<OrganizationFile> {
  const read = await readFile(folder, `${id}.yaml`);
  if ('organization' in read) return read.organization;
  throw new AppError('config', read.problems.map(problemLine).join('\n'));
}

/** Errors: AppError `config` when the folder cannot be read; of `signal` between two files. */
export async function readOrganizations(
  folder: string,
  base: Environment,
  signal?: AbortSignal,
): Promise<OrganizationSet> {
  const set: OrganizationSet = { organizations: [], problems: [], environment: [] };
  const { names, problems } = await listFiles(folder);
  set.problems.push(...problems);
  for (let from = 0; from < names.length; from += AT_ONCE) {
    signal?.throwIfAborted();
    const some = names.slice(from, from + AT_ONCE);
    for (const read of await Promise.all(some.map((name) => readFile(folder, name)))) {
      if ('organization' in read) await addChecked(set, read.organization, base);
      else set.problems.push(...read.problems, ...(read.rest ? await problemsOfRest(read.rest, base) : []));
    }
  }
  set.problems.push(...sameTwice(set.organizations));
  set.problems.sort(byPosition);
  return set;
}

async function listFiles(folder: string): Promise<{ names: string[]; problems: OrganizationProblem[] }> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw folderFault(folder, error);
  });
  const files = entries.filter((entry) => !entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name);
  const names = files.filter((name) => ORGANIZATION_FILE.test(name)).sort();
  const problems = files
    .filter((name) => name.endsWith('.yml'))
    .map((name) =>
      problemAt(join(folder, name), `the file of an organization ends with .yaml: rename it, or move it away`),
    );
  if (names.length > FILES_MAX)
    return {
      names: [],
      problems: [
        problemAt(
          join(folder, names[FILES_MAX] as string),
          `there are more than ${FILES_MAX} organizations in one folder`,
        ),
      ],
    };
  return { names, problems };
}

async function readFile(folder: string, name: string): Promise<ReturnType<typeof readOrganization>> {
  const text = await readRuleFile(folder, name, 'organization');
  const file = join(folder, name);
  return typeof text === 'string' ? readOrganization(text, file) : { problems: [{ ...text, file }] };
}

/** One mistake does not hide another. */
async function problemsOfRest(rest: SettingsOfFile, base: Environment): Promise<OrganizationProblem[]> {
  return [...(await missingFolders(rest)), ...checkRest(rest, base)];
}

async function addChecked(set: OrganizationSet, organization: OrganizationFile, base: Environment): Promise<void> {
  const missing = await missingFolders(organization);
  const checked = checkSettings(organization, base);
  const { TRUSTWARD_SMTP_URL: url, TRUSTWARD_SMTP_URL_FILE: file = url } = environmentOf(organization, base);
  const mails = file !== undefined;
  if ('config' in checked && missing.length === 0)
    set.organizations.push({ ...organization, outline: outlineOf(checked.config, mails) });
  set.problems.push(...missing);
  if ('config' in checked) return;
  set.problems.push(...checked.problems);
  for (const line of checked.environment) if (!set.environment.includes(line)) set.environment.push(line);
}

function outlineOf(config: Config, mails: boolean): Organization['outline'] {
  const { api, lists, mode, schedule, watchMs, rulesDir, rulesSigners, notify, sources, signals } = config;
  const webhooks = [...notify.webhooks.keys()];
  const own = { rulesDir, rulesSigners, address: api?.url ?? '', webhooks, mails };
  const elsewhere = { readsSources: sources.folder !== undefined, asksForSignals: signals.hosts.length > 0 };
  return { lists, mode, schedule, watchMs, ...own, ...elsewhere };
}

async function missingFolders({ file, settings, positionOf }: SettingsOfFile): Promise<OrganizationProblem[]> {
  const folders = settings.get('TRUSTWARD_RULES')?.split(delimiter) ?? [];
  const found = await Promise.all(
    folders.map((folder) =>
      stat(folder).then(
        (one) => one.isDirectory(),
        () => false,
      ),
    ),
  );
  return folders.flatMap((folder, at) =>
    found[at] === true
      ? []
      : [
          {
            file,
            ...positionOf(['rules', at]),
            code: 'value',
            message: `\`rules\`: \`${folder}\` is no folder that is there`,
          },
        ],
  );
}

/** INVARIANT: no organization of the platform is worked on twice: each would undo and repeat what the other did. */
function sameTwice(organizations: readonly Organization[]): OrganizationProblem[] {
  const first = new Map<string, Organization>();
  return organizations.flatMap((organization) => {
    const { file, settings, positionOf, outline } = organization;
    const credential = settings.get('TRUSTWARD_API_KEY_FILE') ?? settings.get('TRUSTWARD_REFRESH_TOKEN_FILE') ?? '';
    const key = `${outline.address} ${credential}`;
    const other = first.get(key);
    if (!other) first.set(key, organization);
    const message = `the address and the credential are those of \`${other?.file}\`: two files would act on one organization`;
    return other ? [{ file, ...positionOf(['api', 'url']), code: 'duplicate_id' as const, message }] : [];
  });
}

function problemAt(file: string, message: string): OrganizationProblem {
  return { file, line: 1, column: 1, code: 'unreadable', message };
}

// The organizations that are worked on: loaded whole or not at all.

/** A disk or network mount that does not answer is not waited for any longer. */
const LOAD_MS_MAX = 30_000;

type Found = { organizations: readonly Organization[] } | { error: AppError; isLate: boolean };

export class OrganizationHolder {
  private current: ReadonlyMap<string, Organization> | undefined;
  private readonly reads: BoundedRead;
  /** What was wrong with the folder when last loaded, one line each; undefined when its files are in force. */
  refusal: readonly string[] | undefined;
  /** The folder could not be read in time when last loaded: it may be in order without another change. */
  isLate = false;

  constructor(
    private readonly folder: string,
    private readonly base: Environment,
    clock: Pick<Clock, 'sleep'>,
    private readonly log: Log,
  ) {
    this.reads = new BoundedRead(clock, LOAD_MS_MAX);
  }

  /** In the order of their ids. */
  all(): readonly Organization[] {
    return [...this.loaded().values()];
  }

  find(id: string): Organization | undefined {
    return this.loaded().get(id);
  }

  /** The first time. Errors: AppError `config` with every mistake. */
  async load(): Promise<void> {
    const found = await this.look();
    this.take(found);
    if ('error' in found) throw found.error;
  }

  /** Loads again. Returns whether the folder could be read in time. Errors: AppError `stopped` by the signal. */
  async reload(signal?: AbortSignal): Promise<boolean> {
    this.take(await this.look(signal));
    return !this.isLate;
  }

  private loaded(): ReadonlyMap<string, Organization> {
    if (!this.current) throw new AppError('internal', 'organizations were used before they were loaded');
    return this.current;
  }

  private async look(signal?: AbortSignal): Promise<Found> {
    try {
      const load = async (over: AbortSignal) => ({
        organizations: await loadOrganizations(this.folder, this.base, over),
      });
      const found = await this.reads.of(load, signal);
      if (found !== 'late') return found;
      const where = `the folder of organizations \`${this.folder}\` could not be read within ${LOAD_MS_MAX / 1_000} s`;
      const error = new AppError('config', `${where}: look whether its disk or network mount answers`);
      return { error, isLate: true };
    } catch (error) {
      if (error instanceof AppError && error.code === 'config') return { error, isLate: false };
      throw error;
    }
  }

  private take(found: Found): void {
    const [before, refusedBefore] = [this.current, this.refusal?.join('\n')];
    this.isLate = 'error' in found && found.isLate;
    this.refusal = 'error' in found ? found.error.message.split('\n') : undefined;
    if ('error' in found) {
      if (before === undefined || found.error.message === refusedBefore) return;
      const problems = found.error.message.replaceAll('\n', '; ');
      this.log.error({ folder: this.folder }, `organizations were refused, the last good set stays: ${problems}`);
      return;
    }
    this.current = new Map(found.organizations.map((organization) => [organization.id, organization]));
    if (before) this.report(before, this.current, refusedBefore !== undefined);
  }

  private report(
    before: ReadonlyMap<string, Organization>,
    now: ReadonlyMap<string, Organization>,
    wasRefused: boolean,
  ): void {
    const added = [...now.keys()].filter((id) => !before.has(id));
    const gone = [...before.keys()].filter((id) => !now.has(id));
    const text = `organizations loaded: ${now.size}`;
    if (added.length + gone.length > 0 || wasRefused) this.log.info({ added, gone }, text);
    for (const id of gone)
      this.log.warn({ organization: id }, `the file of organization \`${id}\` is gone: it is no longer worked on`);
  }
}

// Their part of `/readyz` for who may see all of them. In: the holder. Out: one check. It shows how much is wrong and in which lines of
// which files; what stands there is left to the log.

/** Without the folder. INVARIANT: the names of the files are ids, or were meant to be: no other text comes through. */
const PLACE = /^(?:.*\/)?([a-z0-9-]+\.ya?ml):(\d+):\d+: /;

interface OrganizationsCheck {
  name: 'organizations';
  ok: boolean;
  text: string;
}

export function organizationsCheck(holder: Pick<OrganizationHolder, 'all' | 'refusal'>): OrganizationsCheck {
  const name = 'organizations';
  const wrong = holder.refusal;
  const count = holder.all().length;
  const text = `${count} organization${count === 1 ? '' : 's'}`;
  if (wrong === undefined) return { name, ok: true, text };
  const rest = '`trustward organizations check` and the log have the details';
  return { name, ok: false, text: `${refusalText(wrong, PLACE)}; the last good set of ${text} stays; ${rest}` };
}
