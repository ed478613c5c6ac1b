// worker: the organizations that a process works on: those of a folder, or the one that the environment configures. In: the environment, flags.
// Out: their ids and configurations, as they are now.
import type { Config, Environment } from '../config/config.ts';
import { readConfig } from '../config/config.ts';
import type { Flags } from '../config/database-path.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import { DEFAULT_ORGANIZATION } from '../domain/organization.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { configOf } from '../organizations/environment.ts';
import { OrganizationHolder } from '../organizations/organization-holder.ts';
import { watchFolders } from '../rule-set/folder-watch.ts';

export interface WorkedOn {
  id: string;
  name: string;
  /** What of its configuration needs no credential. */
  outline: Pick<Config, 'schedule' | 'watchMs' | 'mode'> & { hasWebhooks: boolean };
}

export interface Organizations {
  all(): readonly WorkedOn[];
  /** With its credentials, as their files are now. Errors: AppError `config`, `not_found` for one that is not configured. */
  configOf(id: string): Config;
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
  const watch = watchFolders(
    [folder],
    clock,
    (signal) => holder.reload(signal),
    (error) => log.error({}, `the organizations could not be reloaded: ${lineOf(error)}`),
  );
  return {
    all: () =>
      holder.all().map(({ id, name, outline: { schedule, watchMs, mode, webhooks } }) => ({
        id,
        name,
        outline: { schedule, watchMs, mode, hasWebhooks: webhooks.length > 0 },
      })),
    configOf: (id) => {
      const organization = holder.find(id);
      if (!organization) throw notConfigured(id);
      return configOf(organization, env, flags);
    },
    holder,
    stop: () => watch.stop(),
  };
}

function onlyOne(env: Environment, flags: Flags): Organizations {
  const read = () => readConfig(env, flags, DEFAULT_ORGANIZATION);
  const { schedule, watchMs, mode, notify } = read();
  const outline = { schedule, watchMs, mode, hasWebhooks: notify.webhooks.size > 0 };
  const one = { id: DEFAULT_ORGANIZATION, name: DEFAULT_ORGANIZATION, outline };
  return {
    all: () => [one],
    configOf: (id) => {
      if (id !== DEFAULT_ORGANIZATION) throw notConfigured(id);
      return read();
    },
    holder: undefined,
    stop: async () => {},
  };
}

function notConfigured(id: string): AppError {
  return new AppError('not_found', `organization \`${id}\` is not configured (any longer)`);
}
