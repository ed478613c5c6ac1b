// Configuration: which organization a command is about. In: `--org`, the folder of organizations. Out: an id. It reads the names of the files and
// none of them: a mistake in one must not keep anybody from stopping another.
import { readdirSync } from 'node:fs';
import { AppError } from '../domain/errors.ts';
import { DEFAULT_ORGANIZATION, isOrganizationId } from '../domain/organization.ts';
import type { Flags } from './database-path.ts';
import type { NameReader } from './name-reader.ts';

export const ORGANIZATION_FILE = /^([^.].*)\.yaml$/;
const FOLDER = 'TRUSTWARD_ORGANIZATIONS';
const IDS_SHOWN = 20;

/** The ids in the folder, by the names of its files. Errors: AppError `config` when it cannot be read. */
export function organizationIdsIn(folder: string): string[] {
  try {
    const ids = readdirSync(folder).flatMap((file) => ORGANIZATION_FILE.exec(file)?.[1] ?? []);
    return ids.filter(isOrganizationId).sort();
  } catch (error) {
    throw folderFault(folder, error);
  }
}

export function folderFault(folder: string, error: unknown): AppError {
  const { code } = error as NodeJS.ErrnoException;
  const what = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
  return new AppError('config', `the folder of organizations \`${folder}\` ${what}: give it in ${FOLDER}`);
}

/**
 * `--org`, or the only one. Without a folder there is one, configured by the environment. Errors: AppError `config` for the folder,
 * `not_found` for an unknown id, `usage` when one of several must be named.
 */
export function chosenOrganization(reader: NameReader, { org }: Flags): string {
  const folder = reader.text(FOLDER);
  if (folder === undefined) {
    if (org === undefined || org === DEFAULT_ORGANIZATION) return DEFAULT_ORGANIZATION;
    const text = `there is no organization \`${org}\`: without ${FOLDER} there is one, \`${DEFAULT_ORGANIZATION}\``;
    throw new AppError('not_found', `${text}; leave out --org, or set ${FOLDER} to the folder of organization files`);
  }
  const ids = organizationIdsIn(folder);
  if (ids.length === 0)
    throw new AppError('config', `there is no organization in \`${folder}\` (${FOLDER}): add a file such as acme.yaml`);
  if (org !== undefined) {
    if (ids.includes(org)) return org;
    throw new AppError('not_found', `there is no organization \`${org}\` in \`${folder}\`: it has ${listOf(ids)}`);
  }
  const [only, ...others] = ids;
  if (others.length === 0) return only as string;
  throw new AppError('usage', `--org is missing: \`${folder}\` has ${ids.length} organizations: ${listOf(ids)}`);
}

/** A SQLite database has one organization and no name for it. Errors: AppError `usage`. */
export function refuseOrganization(file: string, { org }: Flags, organization: string | undefined): void {
  const given = org ?? organization;
  if (given === undefined) return;
  const text = `\`${file}\` is a SQLite database, which has one organization: `;
  const first = org === undefined ? '' : 'leave out --org, or ';
  throw new AppError('usage', `${text}${first}set TRUSTWARD_DB to a PostgreSQL database to work on \`${given}\``);
}

function listOf(ids: readonly string[]): string {
  const shown = ids.slice(0, IDS_SHOWN).join(', ');
  return ids.length <= IDS_SHOWN
    ? shown
    : `${shown} and ${ids.length - IDS_SHOWN} more (\`trustward organizations list\`)`;
}
