// cli: the settings of a command: the environment, with those of the organization that it is about, and its options, which win. Apart from
// io.ts, since the whole configuration loads much and few commands need it.
import { existsSync } from 'node:fs';
import type { Operations } from '../../contract/table.ts';
import type { Database } from '../../domain/database.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import { DEMO_WORDS } from '../../domain/run.ts';
import type { Config } from '../../runtime/config/config.ts';
import {
  chosenOrganization,
  type Environment,
  endpointIn,
  type Flags,
  isDemo,
  isPostgres,
  NameReader,
  readDatabasePath,
} from '../../runtime/config/name-reader.ts';
import type { OrganizationFile } from '../../runtime/organizations/organization-file.ts';
import { databaseOf, flagsOf, type Io } from './io.ts';

/** `seen`: what the configuration is read from. Errors: AppError `config` with every mistake, one per line; those of `--org`. */
export async function configOf(
  io: Io,
  options: Flags,
  seen: (env: Environment) => Environment = (env) => env,
): Promise<Config> {
  const organization = await organizationOf(io, options);
  if (organization) {
    const { configOf: configOfOrganization } = await import('../../runtime/organizations/load-organizations.ts');
    return configOfOrganization(organization, io.env, flagsOf(options), seen);
  }
  const { readConfig } = await import('../../runtime/config/config.ts');
  return readConfig(seen(io.env), flagsOf(options));
}

/** The command with the settings of its organization as its environment. Errors: as of `configOf`, for the file of the organization alone. */
export async function withSettings(io: Io, options: Flags): Promise<Io> {
  const organization = await organizationOf(io, options);
  if (!organization) return io;
  const { environmentOf } = await import('../../runtime/organizations/load-organizations.ts');
  return { ...io, env: environmentOf(organization, io.env) };
}

/** Those of the endpoint that the command names; undefined: it names none. Errors: as `endpointOperations`. */
export async function remoteOf(io: Io, options: Flags): Promise<Operations | undefined> {
  if (endpointIn(io.env, options) === undefined) return undefined;
  return (await import('./login.ts')).endpointOperations(io, options);
}

/** What stands above an answer about the embedded console. */
export async function demoMark(io: Io, options: Flags): Promise<string> {
  if (endpointIn(io.env, options) !== undefined) return '';
  const { env } = await withSettings(io, options);
  return isDemo(env, flagsOf(options)) ? `${DEMO_WORDS}\n\n` : '';
}

/** Undefined where the environment alone configures the one that there is. */
async function organizationOf(io: Io, options: Flags): Promise<OrganizationFile | undefined> {
  const reader = new NameReader(io.env);
  const folder = reader.text('TRUSTWARD_ORGANIZATIONS');
  if (folder === undefined || !isPostgres(readDatabasePath(io.env, options))) {
    if (options.org !== undefined) databaseOf(io, options); // it is refused, or the one that there is
    return undefined;
  }
  const { readOneOrganization } = await import('../../runtime/organizations/load-organizations.ts');
  return readOneOrganization(folder, chosenOrganization(reader, options));
}

/** Kept evidence of rules, for a report; undefined where none was made, which then costs nothing. Errors: AppError `config`. */
export async function evidenceOf(
  { env }: Pick<Io, 'env'>,
  { beside }: Pick<Database, 'beside'>,
): Promise<EvidenceReader | undefined> {
  if (!existsSync(`${beside}.history/evidence`)) return undefined;
  const { evidenceThresholdsOf } = await import('../../runtime/config/config.ts');
  const { evidenceFolder, evidenceReader } = await import('../../history/evidence/evidence-files.ts');
  return evidenceReader(evidenceFolder(beside), evidenceThresholdsOf(env));
}
