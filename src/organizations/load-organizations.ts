// organizations: the folder of organizations → all of them, or every mistake of every file: the set is loaded whole or not at all. In: a folder, the
// environment. Out: organizations in the order of their ids. It opens no credential: one that is lost is a matter of its organization alone.
import { readdir, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Config, Environment } from '../config/config.ts';
import { folderFault, ORGANIZATION_FILE } from '../config/organization-choice.ts';
import { AppError } from '../domain/errors.ts';
import { byPosition, problemLine, readRuleFile } from '../evaluate/index.ts';
import { checkRest, checkSettings } from './environment.ts';
import {
  type OrganizationFile,
  type OrganizationProblem,
  readOrganization,
  type SettingsOfFile,
} from './organization-file.ts';

export interface Organization extends OrganizationFile {
  /** What is known of its configuration without a credential. */
  outline: Pick<Config, 'lists' | 'mode' | 'schedule' | 'watchMs' | 'rulesDir'> & {
    address: string;
    webhooks: readonly string[];
  };
}

export interface OrganizationSet {
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
  if ('config' in checked && missing.length === 0)
    set.organizations.push({ ...organization, outline: outlineOf(checked.config) });
  set.problems.push(...missing);
  if ('config' in checked) return;
  set.problems.push(...checked.problems);
  for (const line of checked.environment) if (!set.environment.includes(line)) set.environment.push(line);
}

function outlineOf({ api, lists, mode, schedule, watchMs, rulesDir, notify }: Config): Organization['outline'] {
  return { lists, mode, schedule, watchMs, rulesDir, address: api?.url ?? '', webhooks: [...notify.webhooks.keys()] };
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
