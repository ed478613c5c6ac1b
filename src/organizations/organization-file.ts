// organizations: the text of an organization's file → its id, its name and its settings as the environment would have them, each with its place.
// In: a text, its file. Out: these, or every problem of the form, and the settings that have none. It opens no other file, and reads no secret.
import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { type Fact, isFacts } from '../domain/facts.ts';
import { showLiteral } from '../domain/literal-text.ts';
import { isOrganizationId } from '../domain/organization.ts';
import {
  byPosition,
  didYouMean,
  type Place,
  Problems,
  type RuleProblem,
  readRuleText,
  type TextFault,
} from '../evaluate/index.ts';
import { FORM_WORDS, isSetting, organizationSchema, PLACES, SETTINGS, type Setting } from './settings.ts';

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

export interface RefusedOrganization {
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
