// test: organizations of one PostgreSQL database, the endpoint as `trustward serve` composes it, and a worker that does what is asked for: to be
// attacked over its socket. In: ids. Out: as test/support/attacked.ts.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Console, startConsole } from '../../../src/console/console.ts';
import { SCOPES } from '../../../src/domain/endpoint-token.ts';
import type { Jobs } from '../../../src/domain/jobs.ts';
import { addToken } from '../../../src/engine/operate/endpoint-tokens.ts';
import { LastGoodRules } from '../../../src/rules/active/rule-holder.ts';
import { KnownRules } from '../../../src/rules/load/read-rule.ts';
import { composeEngine, sharedRecording } from '../../../src/runtime/compose/compose.ts';
import { openServer, type PostgresServer } from '../../../src/runtime/compose/postgres.ts';
import { composeJobs } from '../../../src/runtime/compose/workers.ts';
import { readEndpoint } from '../../../src/runtime/config/config.ts';
import { startEndpoint } from '../../../src/runtime/endpoint/endpoint.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { systemIds } from '../../../src/runtime/system/ids.ts';
import { Ending } from '../../../src/runtime/system/process.ts';
import { handlersOf, WorkWatch } from '../../../src/runtime/worker/handlers.ts';
import { openOrganizations } from '../../../src/runtime/worker/organization-lines.ts';
import type { SqlStore } from '../../../src/store/sql-store.ts';
import type { Attacked } from '../../support/attacked.ts';
import { BAN_COMPROMISED, silentLog } from '../../support/organization.ts';
import { addUseless, fill, tokensOf } from '../../support/organizations.ts';
import { type Cluster, migratedDatabase, sharedCluster } from '../../support/postgres.ts';

const log = silentLog;
const clock = systemClock;

export async function attackedInPostgres(ids: readonly string[]): Promise<Attacked> {
  const root = mkdtempSync(join(tmpdir(), 'trustward-attacked-'));
  for (const name of ['organizations', 'rules', 'state']) mkdirSync(join(root, name));
  writeFileSync(join(root, 'rules/ban.yaml'), BAN_COMPROMISED);
  const cluster = await sharedCluster();
  const database = await migratedDatabase(cluster);
  const consoles = new Map<string, Console>();
  for (const id of ids) consoles.set(id, await addConsole(root, id));
  const env = {
    ...{ TRUSTWARD_DB: cluster.url(database), TRUSTWARD_STATE: join(root, 'state') },
    ...{ TRUSTWARD_ORGANIZATIONS: join(root, 'organizations'), TRUSTWARD_LISTEN: '127.0.0.1:0' },
    ...{ TRUSTWARD_SCHEDULE: '0 0 1 1 *', TRUSTWARD_WATCH: '0s', TRUSTWARD_QUIET_PERIOD: '0s' },
    ...{ TRUSTWARD_RATE_LIMIT: '0', TRUSTWARD_LOG_LEVEL: 'silent' },
  };
  const settings = readEndpoint(env, {});
  const organizations = await openOrganizations(env, {}, clock, log);
  const ending = new Ending();
  const open = () => openServer(settings.database, clock, log);
  const [server, ofWorker] = [await open(), await open()];
  const openOwnJobs = (one: PostgresServer) => composeJobs(one, settings.database, log);
  const [jobs, workerJobs] = [await openOwnJobs(server), await openOwnJobs(ofWorker)];
  const recording = sharedRecording();
  for (const id of ids) await fillIn(organizations.configOf(id), server, id);
  const worked = {
    organizations,
    server: ofWorker,
    recording,
    knownRules: new KnownRules(),
    lastGood: new LastGoodRules(),
    ending,
    log,
  };
  const { ended } = await workerJobs.work({
    handlers: handlersOf(worked, new WorkWatch(clock)),
    concurrency: { lanes: 2, beside: 1 },
    organizations: () => new Set(ids),
    signal: ending.asked,
  });
  const steps = stepsOf(server);
  const asked: string[] = [];
  const watched: Jobs = {
    ...jobs,
    ask: (job) => {
      asked.push(job.organization);
      return jobs.ask(job);
    },
  };
  const endpoint = await startEndpoint({ settings, organizations, server, jobs: watched, clock, log, ending });
  return {
    url: endpoint.url,
    of: (id) => ({ secret: `secret-of-${id}`, tokens: tokensOf(id) }),
    contents: async (id) =>
      JSON.stringify([
        await rowsIn(cluster, database, id),
        filesIn(join(root, 'state', id)),
        asked.filter((one) => one === id).length,
        [consoles.get(id)?.effects().length, consoles.get(id)?.writes().length],
      ]),
    untilStill: async () => {
      while ((await jobs.counts()).some(({ waiting, underWay }) => waiting + underWay > 0)) await clock.sleep(50);
    },
    steps: () => steps.splice(0),
    close: async () => {
      ending.begin();
      await Promise.all([endpoint.stop(), ended]);
      await organizations.stop();
      for (const each of [jobs, workerJobs, server, ofWorker, recording, ...consoles.values()]) await each.close();
      await cluster.dropDatabase(database);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function addConsole(root: string, id: string): Promise<Console> {
  const console = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    dbFile: ':memory:',
    seed: { seed: 7, devices: 20, users: 12, services: 2, events: 5, compromised: 2 },
    clock,
    log,
  });
  const key = join(root, 'organizations', `${id}.key`);
  writeFileSync(key, `${console.credentials?.apiKey}\n`, { mode: 0o600 });
  const api = `api:\n  url: ${console.address}\n  api_key_file: ${key}\n`;
  const text = `id: ${id}\nname: ${id} Ltd.\nmode: approve\n${api}rules: [${join(root, 'rules')}]\n`;
  writeFileSync(join(root, 'organizations', `${id}.yaml`), text);
  return console;
}

/** As its endpoint opens it: the entries of its audit are signed with its own key. */
async function fillIn(config: Parameters<typeof composeEngine>[0], server: PostgresServer, id: string): Promise<void> {
  const composition = await composeEngine(config, config.mode, [], new Ending(), undefined, {
    part: 'endpoint',
    server,
  });
  const store = composition.store as SqlStore;
  await fill(store, id, `secret-of-${id}`);
  const tokens = tokensOf(id);
  const make = { tokens: store.tokens(), clock, ids: systemIds(clock) };
  for (const scope of SCOPES)
    await addToken({ ...make, secret: () => tokens[scope] }, { name: `${scope}er`, scope }, 'ana');
  await addUseless(store, tokens);
  await composition.close();
}

/** What the endpoint asks of the database for requests, in order. */
function stepsOf({ pool }: PostgresServer): string[] {
  const steps: string[] = [];
  const [query, transaction] = [pool.query.bind(pool), pool.transaction.bind(pool)];
  pool.query = (sql, values) => {
    steps.push(`${sql} ${JSON.stringify(values ?? [])}`);
    return query(sql, values);
  };
  pool.transaction = (begin, work) => {
    steps.push(begin);
    return transaction(begin, work);
  };
  return steps;
}

/** All rows of the organization but the time of a token's last use, which is written later; as a superuser. */
async function rowsIn(cluster: Cluster, database: string, id: string): Promise<unknown[]> {
  const { rows } = await cluster.query(
    `SELECT DISTINCT table_name AS name FROM information_schema.columns WHERE table_schema = 'trustward' AND column_name = 'org' ORDER BY 1`,
    database,
  );
  const counted = [];
  for (const { name } of rows) {
    const row = `(to_jsonb(one) - 'used_at')::text`;
    const sql = `SELECT count(*)::int AS count, md5(string_agg(${row}, ' ' ORDER BY ${row})) AS digest FROM trustward.${name} AS one WHERE org = '${id}'`;
    counted.push([name, (await cluster.query(sql, database)).rows[0]]);
  }
  return counted;
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort()
    .map(
      (name) =>
        `${name} ${createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')}`,
    );
}
