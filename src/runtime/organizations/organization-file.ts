// organizations: the text of an organization's file → its id, its name and its settings as the environment would have them, each with its place.
// In: a text, its file. Out: these, or every problem of the form, and the settings that have none. It opens no other file, and reads no secret.

import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { isOrganizationId, ORGANIZATION_ID_MAX } from '../../domain/database.ts';
import { type Fact, isFacts, showLiteral } from '../../domain/facts.ts';
import { byPosition, type Place, Problems, type RuleProblem } from '../../rules/language/problem.ts';
import { readRuleText, type TextFault } from '../../rules/load/rule-text.ts';

// The keys of an organization's file, and the settings that they are. In: nothing. Out: a schema of the file's form,
// and the name of each setting. INVARIANT: a value is checked where the setting is read from the environment, and
// nowhere else.

/** How a value of the file becomes the text of a setting. `secret`: the file of a credential. */
type SettingKind = 'text' | 'list' | 'windows' | 'figures' | 'ceiling' | 'file' | 'secret' | 'folders';

interface Setting {
  name: string;
  kind: SettingKind;
}

const one = (name: string, kind: SettingKind = 'text'): Setting => ({ name: `TRUSTWARD_${name}`, kind });

/** By the key, or by the group and the key. */
const SETTINGS = {
  api: {
    url: one('API_URL'),
    lists: one('API_LISTS'),
    api_key_file: one('API_KEY_FILE', 'secret'),
    refresh_token_file: one('REFRESH_TOKEN_FILE', 'secret'),
    admin_token_file: one('ADMIN_TOKEN_FILE', 'secret'),
  },
  rules: one('RULES', 'folders'),
  mode: one('MODE'),
  schedule: one('SCHEDULE'),
  watch: one('WATCH'),
  ceilings: { run: one('CEILING_RUN', 'ceiling'), day: one('CEILING_DAY', 'ceiling') },
  act_concurrency: one('ACT_CONCURRENCY'),
  attempts_max: one('ATTEMPTS_MAX'),
  run_failures_max: one('RUN_FAILURES_MAX'),
  serial_devices_max: one('SERIAL_DEVICES_MAX'),
  per_day_times: one('PER_DAY_TIMES'),
  webhooks: one('WEBHOOKS', 'file'),
  webhook_hosts: one('WEBHOOK_HOSTS', 'list'),
  sources: {
    folder: one('SOURCES', 'file'),
    hosts: one('SOURCE_HOSTS', 'list'),
    private_hosts: one('SOURCE_PRIVATE_HOSTS', 'list'),
    ca: one('SOURCE_CA', 'file'),
  },
  signals: {
    folder: one('SIGNALS', 'file'),
    hosts: one('SIGNAL_HOSTS', 'list'),
    private_hosts: one('SIGNAL_PRIVATE_HOSTS', 'list'),
    ca: one('SIGNAL_CA', 'file'),
  },
  signal_receivers: one('SIGNAL_RECEIVERS', 'file'),
  alerts: { to: one('ALERTS_TO', 'list'), silence: one('ALERT_SILENCE'), quiet_hours: one('QUIET_HOURS', 'windows') },
  heartbeat: {
    url_file: one('HEARTBEAT_URL_FILE', 'secret'),
    ca: one('HEARTBEAT_CA', 'file'),
    private: one('HEARTBEAT_PRIVATE'),
  },
  mail: {
    smtp_url_file: one('SMTP_URL_FILE', 'secret'),
    from: one('SMTP_FROM'),
    reply_to: one('SMTP_REPLY_TO'),
    tls: one('SMTP_TLS'),
    ca: one('SMTP_CA', 'file'),
    templates: one('MAIL_TEMPLATES', 'file'),
  },
  freeze: one('FREEZE', 'windows'),
  time_zone: one('TIME_ZONE'),
  exemptions: { warning: one('EXEMPTION_WARNING'), unused: one('EXEMPTION_UNUSED') },
  history: one('HISTORY'),
  record: one('RECORD', 'list'),
  keep_runs: one('KEEP_RUNS'),
  evidence: one('EVIDENCE', 'figures'),
  trust: {
    unreadable_percent: one('TRUST_UNREADABLE_PERCENT'),
    shrunk_percent: one('TRUST_SHRUNK_PERCENT'),
    shrunk_records: one('TRUST_SHRUNK_RECORDS'),
    grown_times: one('TRUST_GROWN_TIMES'),
    grown_records: one('TRUST_GROWN_RECORDS'),
    moved_points: one('TRUST_MOVED_POINTS'),
    moved_records: one('TRUST_MOVED_RECORDS'),
    drift_day_percent: one('TRUST_DRIFT_DAY_PERCENT'),
    drift_week_percent: one('TRUST_DRIFT_WEEK_PERCENT'),
    still: one('TRUST_STILL'),
    records_max: one('RECORDS_MAX'),
    clock_skew: one('CLOCK_SKEW'),
  },
  timing: {
    request_timeout: one('REQUEST_TIMEOUT'),
    progress_timeout: one('PROGRESS_TIMEOUT'),
    quiet_period: one('QUIET_PERIOD'),
    event_overlap: one('EVENT_OVERLAP'),
    gone_after: one('GONE_AFTER'),
    plan_ttl: one('PLAN_TTL'),
  },
} as const satisfies Record<string, Setting | Record<string, Setting>>;

function isSetting(given: Setting | Record<string, Setting>): given is Setting {
  return typeof (given as Setting).kind === 'string';
}

/** Every setting with its place in the file. */
export const PLACES: readonly { place: readonly string[]; setting: Setting }[] = Object.entries(SETTINGS).flatMap(
  ([key, given]) =>
    isSetting(given)
      ? [{ place: [key], setting: given }]
      : Object.entries(given as Record<string, Setting>).map(([inner, setting]) => ({ place: [key, inner], setting })),
);

/** `api.url` for TRUSTWARD_API_URL. */
export const KEY_OF: ReadonlyMap<string, string> = new Map(
  PLACES.map(({ place, setting }) => [setting.name, place.join('.')]),
);

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const texts = z.union([z.string(), z.array(z.string()).min(1)]);
const FORMS: Record<SettingKind, z.ZodType> = {
  text: scalar,
  list: texts,
  windows: texts,
  figures: z.union([z.string(), z.record(z.string(), z.number())]),
  ceiling: z.union([z.string(), z.strictObject({ max: z.int().min(0), percent: z.number().min(0).max(100) })]),
  file: z.string().min(1),
  secret: z.string().min(1),
  folders: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
};

/** What is expected, for a value of another form. */
const FORM_WORDS: Record<SettingKind, string> = {
  text: 'a text or a number',
  list: 'a text, or a list of texts',
  windows: 'a text, or a list of texts',
  figures: 'figures such as {enforce-days: 30}',
  ceiling: '{max: 50, percent: 5}, or the text 50,5%',
  file: 'the path of a file',
  secret: 'the path of a file that holds the credential',
  folders: 'a folder, or a list of folders',
};

function formOf(given: Setting | Record<string, Setting>): z.ZodType {
  if (isSetting(given)) return FORMS[given.kind].optional();
  return z.strictObject(Object.fromEntries(Object.entries(given).map(([key, one]) => [key, formOf(one)]))).optional();
}

const organizationSchema = z.strictObject({
  id: z.string().refine(isOrganizationId, {
    error: `expected lower-case letters, digits and single hyphens, at most ${ORGANIZATION_ID_MAX}`,
  }),
  name: z
    .string()
    .min(1)
    .max(200)
    .refine((text) => text.trim() !== '' && !/\p{C}/u.test(text), { error: 'expected a text of one line' }),
  ...Object.fromEntries(Object.entries(SETTINGS).map(([key, given]) => [key, formOf(given)])),
});

export interface OrganizationFile {
  id: string;
  name: string;
  /** Its path, as the folder of organizations was given. */
  file: string;
  /** By the names of the settings. */
  settings: ReadonlyMap<string, string>;
  positionOf(place: Place): { line: number; column: number };
}

/** A problem has the place of what it is about. */
export type OrganizationProblem = RuleProblem;

interface RefusedOrganization {
  problems: OrganizationProblem[];
  /** What of it can be checked all the same; undefined: nothing. */
  rest?: SettingsOfFile;
}

export type SettingsOfFile = Pick<OrganizationFile, 'file' | 'settings' | 'positionOf'>;

/** Never throws. */
export function readOrganization(text: string, file: string): { organization: OrganizationFile } | RefusedOrganization {
  const read = readRuleText(text, false, 'organization');
  if ('faults' in read) return { problems: textFaults(read.faults).map((fault) => ({ file, ...fault })) };
  const { value, positionOf } = read;
  const problems = new Problems(file, positionOf);
  if (!isFacts(value)) {
    problems.add('format', [], 'expected an organization: an object with `id`, `name`, `api` and `rules`');
    return { problems: problems.list };
  }
  const wrong = reportForm(value, problems);
  demandIdentity(value, basename(file), wrong, problems);
  demandCredential(value, problems);
  const settings = settingsOf(value, wrong, dirname(file), problems);
  if (problems.list.length > 0)
    return { problems: problems.list.sort(byPosition), rest: { file, settings, positionOf } };
  const { id, name } = value as { id: string; name: string };
  return { organization: { id, name, file, settings, positionOf } };
}

/** One of each line. A schedule begins with a star, which is an alias in YAML. */
function textFaults(faults: readonly TextFault[]): TextFault[] {
  const first = faults.filter(({ line }, at) => faults.findIndex((other) => other.line === line) === at);
  const quotes = "a text that begins with `*` is put into quotes, such as '*/5 * * * *'";
  return first.map((fault) => (/\balias\b/i.test(fault.message) ? { ...fault, message: quotes } : fault));
}

/** Returns the places whose values have another form. */
function reportForm(value: Fact, problems: Problems): Place[] {
  const wrong: Place[] = [];
  const parsed = organizationSchema.safeParse(value);
  for (const issue of parsed.error?.issues ?? []) {
    const place = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys) problems.add('format', [...place, key], unknownKey(place, key));
    else {
      const found = ownAt(value, place);
      const at = found === undefined ? place.slice(0, -1) : place;
      wrong.push(place);
      problems.add('format', at, `\`${place.join('.')}\`${formFault(issue.message, issue.code, place, found)}`);
    }
  }
  return wrong;
}

/** INVARIANT: the value of a key that is not known is never repeated: it may be a secret. */
function unknownKey(place: Place, key: string): string {
  const group = SETTINGS[place[0] as keyof typeof SETTINGS] as Record<string, Setting> | undefined;
  const known = place.length === 0 ? ['id', 'name', ...Object.keys(SETTINGS)] : Object.keys(group ?? {});
  const named = `there is no \`${[...place, key].join('.')}\` in an organization`;
  const file = `${key}_file`;
  const secret = PLACES.find(({ place, setting }) => setting.kind === 'secret' && place.at(-1) === file);
  if (secret) return `${named}: put the secret into a file, and give its path in \`${secret.place.join('.')}\``;
  const moved = PLACES.find(({ place, setting }) => place.at(-1) === key || setting.name === settingName(key));
  const hint = didYouMean(key, known);
  return `${named}${hint === '' && moved ? `; did you mean \`${moved.place.join('.')}\`?` : hint}`;
}

function settingName(key: string): string {
  return `TRUSTWARD_${key.toUpperCase().replace(/^TRUSTWARD_/, '')}`;
}

function formFault(message: string, code: string, place: Place, found: Fact | undefined): string {
  if (found === undefined) return ' is missing';
  const setting = settingAt(place);
  const shown = setting?.kind === 'secret' ? '' : `, found \`${showLiteral(found)}\``;
  if (setting) return `: expected ${FORM_WORDS[setting.kind]}${shown}`;
  if (code === 'custom') return `: ${message}${shown}`;
  return `: expected ${place.length === 1 && place[0] !== 'id' && place[0] !== 'name' ? 'a group of keys' : 'a text'}${shown}`;
}

/** Of the place itself, or of the value that it is a part of. */
function settingAt(place: Place): Setting | undefined {
  const given: Setting | Record<string, Setting> | undefined = Object.hasOwn(SETTINGS, place[0] ?? '')
    ? SETTINGS[place[0] as keyof typeof SETTINGS]
    : undefined;
  if (given === undefined || isSetting(given)) return given;
  return Object.hasOwn(given, place[1] ?? '') ? given[place[1] as string] : undefined;
}

/** INVARIANT: the file is named by the id. A copied file that was not changed would act on another organization by its own rules. */
function demandIdentity(value: Fact, file: string, wrong: readonly Place[], problems: Problems): void {
  const id = ownAt(value, ['id']);
  if (typeof id === 'string' && isOrganizationId(id) && file !== `${id}.yaml`)
    problems.add('format', ['id'], `\`id\` is \`${id}\` and the file is \`${file}\`: name the file \`${id}.yaml\``);
  for (const place of [['api', 'url'], ['rules']])
    if (ownAt(value, place) === undefined && !wrong.some((one) => one.every((part, at) => part === place[at])))
      problems.add(
        'format',
        ownAt(value, place.slice(0, 1)) === undefined ? [] : ['api'],
        `\`${place.join('.')}\` is missing`,
      );
}

function demandCredential(value: Fact, problems: Problems): void {
  const api = ownAt(value, ['api']);
  if (!isFacts(api ?? null)) return;
  const given = ['api_key_file', 'refresh_token_file'].filter((key) => ownAt(value, ['api', key]) !== undefined);
  if (given.length === 0)
    problems.add(
      'format',
      ['api'],
      '`api` has no credential: give a file in `api_key_file` or in `refresh_token_file`',
    );
  if (given.length === 2)
    problems.add(
      'format',
      ['api', 'refresh_token_file'],
      '`api` has two credentials: give `api_key_file` or `refresh_token_file`',
    );
}

function settingsOf(value: Fact, wrong: readonly Place[], folder: string, problems: Problems): Map<string, string> {
  const settings = new Map<string, string>();
  for (const { place, setting } of PLACES) {
    const given = ownAt(value, place);
    const isWrong = wrong.some((one) => one.every((part, at) => at >= place.length || part === place[at]));
    if (given !== undefined && !isWrong)
      settings.set(
        setting.name,
        textOf(given, setting, folder, (text) => problems.add('value', place, text)),
      );
  }
  return settings;
}

function textOf(given: Fact, { kind }: Setting, folder: string, fault: (text: string) => void): string {
  const several = Array.isArray(given) ? given.map(String) : [String(given)];
  switch (kind) {
    case 'list':
      return several.join(',');
    case 'windows':
      return several.join('; ');
    case 'figures':
      return isFacts(given)
        ? Object.entries(given)
            .map(([name, figure]) => `${name}=${String(figure)}`)
            .join(', ')
        : several.join();
    case 'ceiling':
      return isFacts(given) ? `${String(given.max)},${String(given.percent)}%` : several.join();
    case 'file':
      return below(folder, several.join());
    case 'secret':
      return secretFile(folder, several.join());
    case 'folders':
      return foldersOf(several, folder, fault);
    default:
      return several.join();
  }
}

function foldersOf(given: readonly string[], folder: string, fault: (text: string) => void): string {
  const folders = given.map((one) => below(folder, one));
  const twice = given.find((_, at) => folders.indexOf(folders[at] as string) < at);
  if (twice !== undefined) fault(`\`rules\` names \`${twice}\` twice`);
  const odd = folders.find((one) => one.includes(delimiter));
  if (odd !== undefined) fault(`\`rules\`: \`${odd}\` has a \`${delimiter}\` in its name: rename the folder`);
  return folders.join(delimiter);
}

/** Paths are those beside the file that names them. */
function below(folder: string, path: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

/** A bare word that names no file may be the secret itself: it stays one, so that no message repeats it. */
function secretFile(folder: string, path: string): string {
  const file = below(folder, path);
  return /[/\\]|^\./.test(path) || existsSync(file) ? file : path;
}

function ownAt(value: Fact, place: Place): Fact | undefined {
  let at: Fact | undefined = value;
  for (const step of place) {
    if (Array.isArray(at)) at = at[Number(step)];
    else at = isFacts(at ?? null) && Object.hasOwn(at as object, step) ? (at as Record<string, Fact>)[step] : undefined;
  }
  return at;
}
