// worker: the organizations that a process works on: those of a folder, or the one that the environment configures. In: the environment, flags.
// Out: their ids and configurations, as they are now.
import { type Config, type Environment, type MayLack, readConfig, webhookFaultsIn } from '../config/config.ts';
import type { Flags } from '../config/database-path.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import { DEFAULT_ORGANIZATION } from '../domain/organization.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { configOf, credentialFaults, credentialFaultsIn, webhookFaults } from '../organizations/environment.ts';
import { OrganizationHolder } from '../organizations/organization-holder.ts';
import { watchFolders } from '../rule-set/folder-watch.ts';

export interface WorkedOn {
  id: string;
  name: string;
  /** What of its configuration needs no credential. */
  outline: Pick<Config, 'schedule' | 'watchMs' | 'mode' | 'rulesDir'> & { webhooks: readonly string[] };
}

export interface Organizations {
  all(): readonly WorkedOn[];
  /** With its credentials and webhooks, as their files are now. Errors: AppError `config`, `not_found` for one that is not configured. */
  configOf(id: string, mayLack?: MayLack): Config;
  /** What keeps its credentials from being read, with the paths of files: for the log. */
  credentialFaults(id: string): readonly string[];
  /** The same of its webhooks; empty for one that is not configured. */
  webhookFaults(id: string): readonly string[];
  /** Undefined: the environment configures one. */
  holder: OrganizationHolder | undefined;
  stop(): Promise<void>;
}

/** Errors: AppError `config` with every mistake. */
export async function openOrganizations(
  env: Environment,
  flags: Flags,
  clock: Clock,
  log: Log,
): Promise<Organizations> {
  const folder = env.TRUSTWARD_ORGANIZATIONS?.trim() || undefined;
  if (folder === undefined) return onlyOne(env, flags);
  const holder = new OrganizationHolder(folder, env, clock, log);
  await holder.load();
  const found = (id: string) => {
    const organization = holder.find(id);
    if (!organization) throw notConfigured(id);
    return organization;
  };
  const watch = watchFolders(
    [folder],
    clock,
    (signal) => holder.reload(signal),
    (error) => log.error({}, `the organizations could not be reloaded: ${lineOf(error)}`),
  );
  return {
    all: () => holder.all(),
    configOf: (id, mayLack) => configOf(found(id), env, flags, undefined, mayLack),
    credentialFaults: (id) => credentialFaults(found(id)),
    webhookFaults: (id) => {
      const organization = holder.find(id);
      return organization ? webhookFaults(organization, env) : [];
    },
    holder,
    stop: () => watch.stop(),
  };
}

function onlyOne(env: Environment, flags: Flags): Organizations {
  const read = (id: string, mayLack?: MayLack) => {
    if (id !== DEFAULT_ORGANIZATION) throw notConfigured(id);
    return readConfig(env, flags, DEFAULT_ORGANIZATION, mayLack);
  };
  const { schedule, watchMs, mode, rulesDir, notify } = read(DEFAULT_ORGANIZATION);
  const outline = { schedule, watchMs, mode, rulesDir, webhooks: [...notify.webhooks.keys()] };
  const one = { id: DEFAULT_ORGANIZATION, name: DEFAULT_ORGANIZATION, outline };
  return {
    all: () => [one],
    configOf: read,
    credentialFaults: () => credentialFaultsIn(env),
    webhookFaults: () => webhookFaultsIn(env),
    holder: undefined,
    stop: async () => {},
  };
}

function notConfigured(id: string): AppError {
  return new AppError('not_found', `organization \`${id}\` is not configured (any longer)`);
}
