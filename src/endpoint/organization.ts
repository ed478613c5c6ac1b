// endpoint: one organization, opened to answer: it reads, records what people say, and asks workers for what calls something. In: its
// configuration, the server and the jobs of the process. Out: the ports of its app, and its tokens. INVARIANT: it can send nothing that changes
// anything: its client may not write, whatever asks it to.
import { type Composition, composeEngine } from '../compose/compose.ts';
import type { PostgresServer } from '../compose/postgres.ts';
import type { Config, MayLack } from '../config/config.ts';
import { composedDeps } from '../daemon/http-deps.ts';
import { tokenRegister, tokensPort } from '../daemon/tokens.ts';
import { UnderWay } from '../daemon/under-way.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Jobs } from '../domain/jobs.ts';
import type { RunRecord } from '../domain/store.ts';
import type { HttpDeps, MetricsPort, OpenedOrganization } from '../http/index.ts';
import { watchFolders } from '../rule-set/folder-watch.ts';
import { folderNames, foldersIn, withoutPaths } from '../rule-set/rule-folders.ts';
import { RunQueue } from '../schedule/run-queue.ts';
import { nextAfter } from '../schedule/schedule.ts';
import { Asks } from '../store/postgres/asks.ts';
import type { AuditListener } from '../store/postgres/listener.ts';
import { PostgresReplays } from '../store/postgres/replays-beside.ts';
import type { Ending } from '../system/ending.ts';
import { turnsByJobs } from '../worker/asks.ts';
import { runsByJobs } from './asked-runs.ts';
import { Latest } from './latest.ts';
import { readinessOf } from './readiness.ts';

export interface Within {
  server: PostgresServer;
  jobs: Pick<Jobs, 'ask' | 'answerOf' | 'counts'>;
  audits: Pick<AuditListener, 'on'>;
  ending: Ending;
  /** Of this organization. */
  metrics: MetricsPort;
  /** What names the credential that cannot be read; undefined: none is known to lack. */
  lackNamedBy(): string | undefined;
  /** The token of the configuration, where it is this organization's. */
  token: string | undefined;
}

/** Reading and stopping need neither: what needs them says that they are missing. */
export const WITHOUT: MayLack = ['secrets', 'webhooks'];

/** Without valid rules too: what needs them says what is wrong. Errors: AppError `config`, `store_failed`, `bound_elsewhere`. */
export async function openOrganization(config: Config, within: Within): Promise<OpenedOrganization> {
  const { server, jobs, audits, ending, metrics } = within;
  const organization = organizationOf(config);
  demandApi(config);
  const place = { part: 'endpoint', server } as const;
  const composition = await composeEngine(config, config.mode, [], ending, undefined, place);
  const { engine, clock, log, store } = composition;
  const closing = new AbortController();
  const signal = AbortSignal.any([ending.asked, closing.signal]);
  const register = await tokenRegister(composition, within.token);
  const tokens = new Latest(
    () => register.load(),
    (error) => log.warn({ organization }, `tokens could not be read again: ${lineOf(error)}`),
  );
  const listeners: (() => void)[] = [];
  const wake = () => {
    for (const listener of listeners) listener();
  };
  store.onAudited(wake);
  const off = audits.on(organization, (kinds) => {
    if (!kinds || kinds.has('token')) tokens.ask();
    wake();
  });
  engine.afterwards = () => alerted(composition, jobs, organization);
  const ruleWatch = watchFolders(
    foldersIn(config.rulesDir),
    clock,
    // The audit names the rules that a worker's runs are made with.
    async (over) => {
      await composition.rules.reload(async () => {}, over);
      return !composition.rules.isLate;
    },
    (error) => log.error({ organization }, `the rules could not be reloaded: ${lineOf(error)}`),
  );
  const secretFiles = composition.secretFiles.untilEnding(signal);
  const asks = new Asks(server.pool, organization);
  const deps: OpenedOrganization['deps'] = composedDeps(composition, {
    isDaemon: false,
    trigger: runsByJobs({ jobs, asks, reader: engine.store, organization, signal }),
    turns: turnsByJobs({ jobs, asks, reader: engine.store, organization, newId: () => engine.ids.next(), signal }),
    trials: new RunQueue(clock),
    underWay: new UnderWay(),
    replayKeeper: new PostgresReplays(server.pool, organization),
    readiness: () => readinessOf(composition, jobs, within.lackNamedBy()),
    nextRunAtMs: () => nextAfter(config.schedule, clock.nowMs()),
    onAudited: (listener) => void listeners.push(listener),
    ending: signal,
    tokens: tokensPort(composition, register),
    metrics,
  });
  const { rules } = composition;
  deps.views = namingFolders(deps.views);
  deps.ruleRefusal = () => rules.refusal?.map((line) => withoutPaths(line, config.rulesDir));
  return {
    deps,
    verifyHash: (hash) => register.verifyHash(hash),
    close: async () => {
      off();
      closing.abort();
      await Promise.all([ruleWatch.stop(), secretFiles]);
      await composition.close();
    },
  };
}

function organizationOf({ database }: Config): string {
  if (database.kind === 'postgres') return database.organization;
  throw new AppError('internal', 'an endpoint of PostgreSQL was given a file');
}

/** Errors: AppError `config`. */
export function demandApi({ api }: Pick<Config, 'api'>): void {
  if (api) return;
  const text = 'the embedded console is of one process, and here several work on one organization';
  throw new AppError(
    'config',
    `configuration: TRUSTWARD_API_URL is not set: ${text}; or use a SQLite file to try things out`,
  );
}

/** A path of the machine on which a worker made the run is of no use to who asks over HTTP. */
function namingFolders(views: HttpDeps['views']): HttpDeps['views'] {
  const named = (run: RunRecord) => ({ ...run, rulesDir: run.rulesDir && folderNames(run.rulesDir) });
  return {
    ...views,
    run: (run) => views.run(named(run)),
    report: (reader, run, format) => views.report(reader, named(run), format),
  };
}

/** What needs a person is recorded here, and a worker delivers it. Never rejects. */
async function alerted(
  { config, notifications, log }: Composition,
  jobs: Pick<Jobs, 'ask'>,
  organization: string,
): Promise<void> {
  if (config.notify.webhooks.size === 0) return;
  try {
    await notifications.afterwards();
    await jobs.ask({ organization, kind: 'deliver', payload: null });
  } catch (error) {
    log.error({ organization }, `people could not be alerted: ${lineOf(error)}`);
  }
}
