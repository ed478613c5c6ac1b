// commands: `doctor`: the database and its audit: whether they are whole, of this version and this address, and
// writable. It opens them read-only; the file system answers whether they can be written.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { WAY_ON } from '../../audit/belonging.ts';
import { privateKeyFileOf } from '../../audit/signing-key.ts';
import { restoredWhy } from '../../audit/sources.ts';
import { composeReader } from '../../compose/reader.ts';
import { composeVerification } from '../../compose/record.ts';
import { withReader } from '../../compose/with-reader.ts';
import type { Config } from '../../config/config.ts';
import type { AuditCheck } from '../../domain/audit-check.ts';
import { type Database, databaseName } from '../../domain/database.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import { aboutText } from '../../domain/exemption.ts';
import { coveredBy, coveredText } from '../../domain/exemption-covers.ts';
import type { IdentityReader } from '../../domain/identity.ts';
import { stopText } from '../../domain/operator.ts';
import type { RecordReader } from '../../domain/record-reader.ts';
import { shellWord } from '../../domain/shell-word.ts';
import { distrustedNow } from '../../domain/snapshot.ts';
import { timeText } from '../../domain/time-text.ts';
import { auditCheckText } from '../../report/audit-check-text.ts';
import { showHidden } from '../../report/index.ts';
import { inspectDatabase } from '../../store/inspect.ts';
import { systemClock } from '../../system/clock.ts';
import { intentsToResolve } from '../operator-lists.ts';
import { sizeText } from '../size-text.ts';
import { type Check, ok, problem, warning } from './check.ts';

const NAME = 'database';

export async function databaseChecks(config: Config): Promise<Check[]> {
  const { database } = config;
  try {
    if (database.kind === 'postgres')
      return [...(await contentChecks(config, databaseName(database))), ...(await recordChecks(database))];
    const { file } = database;
    if (!existsSync(file)) return [missing(file)];
    // First: a user who may not write beside a database cannot even read its newest state.
    const closed = unwritable(file);
    if (closed) return [closed, ...openToOthers(file)];
    const { tables, latest, damage } = inspectDatabase(file, 'quick');
    if (damage.length > 0)
      return [
        problem(NAME, `${file} is damaged: ${damage[0]}`, 'stop the daemon and restore a backup (docs/operating.md)'),
      ];
    const size = sizeText(sizeOf(file) + sizeOf(`${file}-wal`));
    const whole = `${file}: whole (quick check), ${size}, tables ${tables} of ${latest}`;
    if (tables > latest) return [problem(NAME, `${whole}: a newer version wrote it`, 'update Trustward')];
    if (tables < latest) {
      const back = '`trustward db backup FILE` first: there is no other way to go back';
      return [warning(NAME, `${whole}: the next start migrates them`, back), ...openToOthers(file)];
    }
    return [...(await contentChecks(config, whole)), ...openToOthers(file), ...(await recordChecks(database))];
  } catch (error) {
    if (isMissing(error, database)) return [ok(NAME, `none yet at ${databaseName(database)}: the first run makes it`)];
    return [failed(NAME, error)];
  }
}

async function recordChecks(database: Database): Promise<Check[]> {
  return [
    ...(await restoredChecks(database)),
    ...(await auditChecks(database).catch((error: unknown) => [failed('audit', error)])),
  ];
}

/** A PostgreSQL database in which no run has made the tables. */
function isMissing(error: unknown, { kind }: Database): boolean {
  return kind === 'postgres' && error instanceof AppError && error.code === 'not_found';
}

function failed(name: string, error: unknown): Check {
  if (!(error instanceof AppError)) throw error;
  const isDamaged = error.code === 'store_damaged' || name !== NAME;
  return problem(name, lineOf(error), `see ${isDamaged ? 'the section on backups of ' : ''}docs/operating.md`);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function missing(file: string): Check {
  const folder = existingFolder(dirname(resolve(file)));
  const text = `none yet at ${file}: the first run makes it`;
  return canWrite(folder)
    ? ok(NAME, text)
    : problem(NAME, `${text}, and ${folder} cannot be written`, 'change its owner or mode, or set TRUSTWARD_DB');
}

/** The folder itself, or its nearest existing ancestor. */
export function existingFolder(folder: string): string {
  return existsSync(folder) ? folder : existingFolder(dirname(folder));
}

function unwritable(file: string): Check | undefined {
  const closed = [file, dirname(resolve(file))].find((place) => !canWrite(place));
  if (closed === undefined) return undefined;
  return problem(NAME, `${closed} cannot be written by this user`, 'change its owner or mode, or be the daemon’s user');
}

function canWrite(place: string): boolean {
  try {
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function openToOthers(file: string): Check[] {
  if ((statSync(file).mode & 0o077) === 0) return [];
  return [
    warning(NAME, `${file} can be read by others, and it names people and devices`, `chmod 600 ${shellWord(file)}`),
  ];
}

async function contentChecks({ db, database, api }: Config, whole: string): Promise<Check[]> {
  return withReader(composeReader(database), async (reader) => {
    const address = await reader.address();
    if (api && address !== undefined && address !== api.url)
      return [problem(NAME, `${db} belongs to ${address}, not to ${api.url}`, 'set another TRUSTWARD_DB')];
    const stop = await reader.stop();
    return [
      ok(NAME, `${whole}, ${await lastRunText(reader)}`),
      ...(stop ? [warning('stop', stopText(stop), '`trustward resume --reason …` when it is over')] : []),
      ...(await sourceChecks(reader)),
      ...(await needlessExemptions(reader)),
      ...(await intentChecks(reader)),
    ];
  });
}

const RUNS_BACK = 20;

async function sourceChecks(reader: Pick<RecordReader, 'runsOverLists'>): Promise<Check[]> {
  const latest = (await reader.runsOverLists(RUNS_BACK)).filter(({ findings }) => findings !== undefined);
  return distrustedNow(latest).map(({ run, reading: { reasons } }) => {
    const text = `run ${run.seq} did not trust what it read, and nothing is done on it: ${reasons.map((one) => one.text).join('; ')}`;
    return warning('sources', showHidden(text), 'docs/operating.md, under A source is not trusted');
  });
}

/** They may be about a serial number that was given as an id: then nothing is protected. */
async function needlessExemptions(reader: Pick<RecordReader, 'exemptions'> & IdentityReader): Promise<Check[]> {
  const found: Check[] = [];
  for (const exemption of await reader.exemptions(systemClock.nowMs())) {
    const covers = await coveredBy(reader, exemption);
    if (covers?.count !== 0) continue;
    const text = showHidden(`exemption ${exemption.id} of ${aboutText(exemption)} ${coveredText(covers)}`);
    found.push(warning('exemptions', text, '`exempt add` it again by its serial number, or `exempt end` it'));
  }
  return found;
}

async function intentChecks(reader: Pick<RecordReader, 'intents' | 'openFailures'>): Promise<Check[]> {
  const [first, ...more] = await intentsToResolve(reader);
  if (!first) return [];
  const others = more.length === 0 ? '' : `, and ${more.length} more`;
  const text = `${more.length + 1} to resolve: ${first.action} ${first.target} (${first.outcome})${others}`;
  const advice =
    '`trustward intents list` shows why; `trustward intents resolve ID --as done|not-done|retry --reason …`';
  return [warning('intents', text, advice)];
}

async function lastRunText(reader: Pick<RecordReader, 'latestRun'>): Promise<string> {
  const run = await reader.latestRun();
  return run ? `run ${run.seq} ${run.status} (began ${timeText(run.startedAt)})` : 'no run yet';
}

async function restoredChecks(database: Database): Promise<Check[]> {
  return withReader(composeReader(database), async (reader) => {
    const why = await restoredWhy(database.beside, reader);
    if (why === undefined) return [];
    const text = `this database was restored, or its checkpoints outside were changed (${why}): nothing is called`;
    return [problem('restored', text, WAY_ON)];
  });
}

/** The result of `audit verify` without the head, which only programs need. */
function wholeText(check: AuditCheck): string {
  return auditCheckText(check).replace(`, head ${check.head}`, '').replaceAll('\n', '; ');
}

/** The checkpoints outside against the chain; and the key, without which nothing starts. */
async function auditChecks(database: Database): Promise<Check[]> {
  const name = 'audit';
  const key = privateKeyFileOf(database.beside);
  const check = await composeVerification(database, {});
  const found = check.ok
    ? ok(name, wholeText(check))
    : problem(
        name,
        auditCheckText(check),
        check.tables.length > 0
          ? 'find out who changed it (docs/audit.md), then restore a backup, or keep the rows: `audit accept-tables`'
          : 'see docs/audit.md for causes; after restoring a backup: `audit accept-restore`',
      );
  if (!existsSync(key)) {
    if (check.checkpoints === 0) return [found];
    const advice = 'restore it from your backup, or `trustward audit new-key --reason …`';
    return [found, problem(name, `${key}, which signs checkpoints, is missing: the daemon does not start`, advice)];
  }
  if ((statSync(key).mode & 0o077) === 0) return [found];
  return [
    found,
    problem(name, `${key} can be read by others: the daemon does not start`, `chmod 600 ${shellWord(key)}`),
  ];
}
