// worker: its health and its metrics, at a port of its own where one is configured. In: its state. Out: where it listens. It has no token, so it is off
// by default, and several workers of one machine start with the same settings.
import type { PostgresServer } from '../compose/postgres.ts';
import type { Jobs, Working } from '../domain/jobs.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { type Listening, listenForWorker } from '../http/index.ts';
import { WorkerMeasuring } from '../metrics/worker-measuring.ts';
import { versionOf } from '../system/version.ts';
import { OrganizationLines } from './organization-lines.ts';
import type { Organizations } from './organizations.ts';
import { failingOrganizations, readinessOfWorker } from './readiness.ts';
import { jobsOf } from './shared-checks.ts';
import type { WorkWatch } from './work-watch.ts';

export interface PortSettings {
  listen: { host: string; port: number };
  allowedHosts: readonly string[];
}

export interface PortParts {
  organizations: Organizations;
  server: PostgresServer;
  jobs: Jobs;
  watch: WorkWatch;
  working: () => Working | undefined;
  ending: AbortSignal;
  places: number;
  clock: Clock;
  log: Log;
}

/** Files are looked at when somebody asks, and not more often than this. */
const LOOK_EVERY_MS = 5_000;

/** Errors: AppError `port_busy`, `config`. */
export async function openWorkerPort({ listen, allowedHosts }: PortSettings, parts: PortParts): Promise<Listening> {
  const { organizations, server, jobs, watch, working, ending, places, clock, log } = parts;
  const { holder } = organizations;
  // Jobs log themselves what keeps them from being done.
  const lines = new OrganizationLines(organizations, clock, { ...log, error: () => {} });
  let lookedMs = clock.monotonicMs();
  const look = () => {
    if (clock.monotonicMs() - lookedMs < LOOK_EVERY_MS) return;
    lines.look();
    lookedMs = clock.monotonicMs();
  };
  const measuring = new WorkerMeasuring({
    version: versionOf(),
    jobs: () => jobsOf(organizations, jobs, clock),
    organizations: () => holder && { count: organizations.all().length, areRefused: holder.refusal !== undefined },
    problems: () => lines.problems(),
    fault: () => server.health.fault(),
    ids: () => organizations.all().map(({ id }) => id),
    failing: () => [...failingOrganizations({ lines, watch }).keys()],
    longestMs: () => watch.underWay()[0]?.ms ?? 0,
    fetchedAtMs: () => working()?.fetchedAtMs(),
  });
  watch.on(measuring);
  server.leases.watch((change) => measuring.leased(change));
  const readiness = () => {
    look();
    return readinessOfWorker({ server, jobs, organizations, lines, watch, working: working(), ending, places, clock });
  };
  const metrics = {
    contentType: measuring.contentType,
    text: () => {
      look();
      return measuring.text();
    },
  };
  const hosts = { listenHost: listen.host, allowed: allowedHosts };
  const listening = await listenForWorker({ metrics, readiness, log, hosts }, listen);
  log.info({ url: listening.url }, `health and metrics without a token at ${listening.url}`);
  return listening;
}
