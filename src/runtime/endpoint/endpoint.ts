// endpoint: `serve` over PostgreSQL: the endpoint and its pages for one or several organizations, in any number of processes. It makes no runs and
// keeps no schedule: workers do. In: settings, a server, jobs, organizations. Out: a handle with its address, to stop it.

import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DEFAULT_ORGANIZATION } from '../../domain/database.ts';
import { hashOfToken } from '../../domain/endpoint-token.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { Jobs } from '../../domain/jobs.ts';
import { openLink } from '../../domain/person-link.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import type { MetricsPort } from '../../faces/http/deps.ts';
import { type Listening, listen } from '../../faces/http/listen.ts';
import { createOrganizationsApp } from '../../faces/http/organizations/app.ts';
import { loadOrCreateToken, TokenRegister } from '../../faces/http/sign-in.ts';
import { createOrganizationsPages } from '../../faces/web/pages/organizations.tsx';
import { publicHalves } from '../../signals/own-keys.ts';
import { AuditListener, CHANNEL } from '../../store/postgres/lease-statements.ts';
import {
  ALL,
  ownerOf,
  PostgresSignIns,
  personSecretOf,
  signalKeysOf,
  TokensOfAll,
} from '../../store/postgres/tokens-of-all.ts';
import type { PostgresServer } from '../compose/postgres.ts';
import { SecretFiles } from '../compose/secret-files.ts';
import type { EndpointSettings } from '../config/config.ts';
import { isToken } from '../config/name-reader.ts';
import { metricsListener, peopleListener } from '../daemon/daemon.ts';
import { configured, ownNames } from '../daemon/http-deps.ts';
import { EndpointMeasuring } from '../metrics/shared-gauges.ts';
import { newSecret } from '../system/ids.ts';
import { type Ending, versionOf } from '../system/process.ts';
import { jobsOf, OrganizationLines, type Organizations } from '../worker/organization-lines.ts';
import { Latest, openOrganization, readinessOfProcess, WITHOUT } from './organization.ts';

// The tokens that open every organization: those of their table, and that of the configuration where there are several
// organizations.

interface ProviderParts {
  server: PostgresServer;
  audits: Pick<AuditListener, 'on'>;
  clock: Clock;
  log: Log;
  /** Of the configuration, and the file that it came from. */
  token: { text: string; file: string | undefined } | undefined;
  signal: AbortSignal;
}

/** Errors: AppError `store_failed`. */
async function openProvider({ server, audits, clock, log, token, signal }: ProviderParts) {
  const store = new TokensOfAll(server.pool);
  const register = new TokenRegister({ store, configured: configured(token?.text), clock, log });
  await register.load();
  const again = new Latest(
    () => register.load(),
    (error) => log.warn({}, `tokens of all organizations could not be read again: ${lineOf(error)}`),
  );
  audits.on(ALL, () => again.ask());
  return { register, ended: followFile(register, { clock, log, token, signal }) };
}

/** The token of no organization: no audit has its changes, and the log has them. */
async function followFile(
  register: TokenRegister,
  { clock, log, token, signal }: Pick<ProviderParts, 'clock' | 'log' | 'token' | 'signal'>,
): Promise<void> {
  if (token?.file === undefined) return;
  let current = token.text;
  const file = {
    name: 'TRUSTWARD_TOKEN_FILE',
    file: token.file,
    current: () => current,
    fault: (secret: string) => (isToken(secret) ? undefined : 'is not a valid token'),
    take: (secret: string) => {
      current = secret;
      register.configure(configured(secret));
    },
  };
  await new SecretFiles({ files: [file], append: async () => {}, clock, log }).untilEnding(signal);
}

interface EndpointParts {
  settings: EndpointSettings;
  organizations: Organizations;
  server: PostgresServer;
  jobs: Jobs;
  clock: Clock;
  log: Log;
  ending: Ending;
}

export interface Endpoint {
  url: string;
  metricsUrl: string | undefined;
  /** Where the token of the configuration is, for people; undefined: there is none. */
  tokenPlace: string | undefined;
  stop(): Promise<void>;
}

/** How often it looks for organizations that changed, or that nobody uses. */
const LOOK_EVERY_MS = 5_000;

/** Errors: AppError `port_busy`, `config`, `store_failed`. */
export async function startEndpoint(parts: EndpointParts): Promise<Endpoint> {
  const { settings, organizations, server, jobs, clock, log, ending } = parts;
  const { holder } = organizations;
  const audits = new AuditListener();
  const heard = server.listen(CHANNEL, audits);
  const watched = server.untilEnding(ending.asked);
  const token = tokenOf(settings, holder !== undefined);
  const ofAll = holder && token && { text: token.text, file: settings.tokenFile };
  const provider = await openProvider({ server, audits, clock, log, token: ofAll, signal: ending.asked });
  const lines = new OrganizationLines(organizations, clock, log);
  const measuring = new EndpointMeasuring({
    version: versionOf(),
    jobs: () => jobsOf(organizations, jobs, clock),
    organizations: () => holder && { count: organizations.all().length, areRefused: holder.refusal !== undefined },
    problems: () => lines.problems(),
    fault: () => server.health.fault(),
  });
  const metrics = metricsFor(measuring, '', () => true);
  const isAlone = () => organizations.all().length === 1;
  const readFrom = new Map<string, { mark: string; lacks: boolean }>();
  const app = createOrganizationsApp(
    {
      list: () => lines.now(),
      open: async (id) => {
        // It answers and records: what calls the API says by itself that a credential is missing, and workers deliver.
        const config = organizations.configOf(id, WITHOUT);
        const lacks = config.api?.credential.secret === '' || organizations.webhookFaults(id).length > 0;
        readFrom.set(id, { mark: markOf(organizations, id), lacks });
        const metrics = metricsFor(measuring, id, isAlone);
        const own = holder ? undefined : token?.text;
        const lackNamedBy = () => lines.lackNamedBy(id);
        return openOrganization(config, { server, jobs, audits, ending, metrics, lackNamedBy, token: own });
      },
      organizationOf: async (hash) =>
        !holder && token && hash === hashOfToken(token.text) ? DEFAULT_ORGANIZATION : ownerOf(server.pool, hash),
      verifyProvider: (hash) => provider.register.verifyHash(hash),
      isPersonLink: async (id, token) => {
        const secret = await personSecretOf(server.pool, id);
        return secret !== undefined && openLink(secret, id, token) !== undefined;
      },
      signalKeys: async (id) => publicHalves(await signalKeysOf(server.pool, id)),
      peopleHost: settings.people.listen?.host,
      signIns: (id = ALL) => new PostgresSignIns(server.pool, id),
      readiness: (isNamed) => readinessOfProcess(server, jobs, holder, clock, isNamed),
      metrics,
      secret: newSecret,
      ...{ clock, log },
      hosts: {
        listenHost: settings.listen.host,
        allowed: ownNames(settings.allowedHosts, settings.publicUrl, settings.people.base),
      },
      publicUrl: settings.publicUrl,
      rateLimits: settings.rateLimits,
      provider: settings.provider,
      hasLinks: settings.hasLinks,
      // Cookies are named by the port that browsers see: behind a balancer they are those of all endpoints.
      address: () => settings.publicUrl ?? listening.url,
    },
    createOrganizationsPages(),
  );
  const listening = await listen(app.app, settings.listen);
  let beside: Listening | undefined;
  let people: Listening | undefined;
  try {
    const hosts = { listenHost: settings.listen.host, allowed: settings.allowedHosts };
    beside = await metricsListener(settings, { metrics, log, hosts });
    people = await peopleListener(settings, app.people, log);
  } catch (error) {
    await beside?.close();
    await listening.close();
    throw error;
  }
  const looked = untilEnding(parts, async () => {
    lines.look();
    await app.closeUnused();
    for (const [id, { mark, lacks }] of readFrom) {
      const isOld = mark !== markOf(organizations, id) || (lacks && !lines.lacksFiles(id));
      if (!isOld) continue;
      readFrom.delete(id);
      app.renew(id);
    }
  });
  log.info({ url: listening.url }, `listening on ${listening.url}`);
  return {
    url: listening.url,
    metricsUrl: beside?.url,
    tokenPlace: token?.place,
    stop: async () => {
      ending.begin();
      await Promise.all([
        ending.until('HTTP connections', listening.close(ending.withinMs / 4)),
        beside?.close(ending.withinMs / 4),
        people?.close(ending.withinMs / 4),
        ending.until(
          'organizations',
          looked.then(() => app.close()),
        ),
        heard.close(),
        watched,
        provider.ended,
      ]);
    },
  };
}

interface ConfiguredToken {
  text: string;
  place: string;
}

/** Without organizations of a folder there is always one, as with a file. Errors: AppError `config`. */
function tokenOf({ token, database }: EndpointSettings, hasFolder: boolean): ConfiguredToken | undefined {
  if (token !== undefined) return { text: token, place: 'TRUSTWARD_TOKEN' };
  if (hasFolder) return undefined;
  mkdirSync(dirname(database.beside), { recursive: true, mode: 0o700 });
  const { token: text, file } = loadOrCreateToken(database.beside);
  return { text, place: file };
}

/** What is measured is of the process: it names organizations, and is shown to whoever may see all of them. */
function metricsFor(measuring: EndpointMeasuring, id: string, mayRead: () => boolean): MetricsPort {
  return {
    contentType: measuring.contentType,
    text: async () => {
      if (mayRead()) return measuring.text();
      throw new AppError('not_found', 'metrics are of the whole process: `/metrics` with a token of all organizations');
    },
    answered: (request) => measuring.answered(request),
    streams: (open) => measuring.streams(id, open),
  };
}

/** Of what an organization is opened with: another one means that it is opened anew. */
function markOf({ holder }: Organizations, id: string): string {
  return JSON.stringify([...(holder?.find(id)?.settings ?? [])]);
}

async function untilEnding({ ending, clock, log }: EndpointParts, look: () => Promise<void>): Promise<void> {
  while (!ending.asked.aborted) {
    await clock.sleep(LOOK_EVERY_MS, ending.asked).catch(() => {});
    if (ending.asked.aborted) return;
    await look().catch((error) => log.error({}, `organizations could not be looked after: ${lineOf(error)}`));
  }
}
