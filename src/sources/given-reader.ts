// sources: reads each source when it is due. In: the sources of the rules in force. Out: new tables, kept; alerts about what fails or is stale. A reading
// that fails leaves the last good table, which counts until its data is stale.

import { spanText, timeText } from '../base/time.ts';
import { lineOf } from '../domain/errors.ts';
import { doubtOf, type GivenSource } from '../domain/given-facts.ts';
import type { Alert } from '../domain/notification.ts';
import type { Clock, Log } from '../domain/ports.ts';
import type { SecretPlace } from '../domain/secrets.ts';
import { type GivenStanding, type GivenState, type GivenTables, meaningOf } from './given-tables.ts';
import { markNow, readGivenFile, textBelow } from './read-file.ts';
import { type Network, readHttp } from './read-http.ts';
import { readPostgres } from './read-postgres.ts';
import { type Read, type RowSink, unusable } from './rows.ts';
import { TableBuilder, type TableContent } from './table.ts';

export interface SourceAccess extends Network {
  /** Of data files and secrets; undefined: no source is read. */
  folder: string | undefined;
  /** Of the environment. */
  variable(name: string): string | undefined;
}

interface Parts {
  tables: GivenTables;
  access: SourceAccess;
  clock: Clock;
  log: Log;
}

const LOOK_EVERY_MS = 1_000;
/** A file that is being written for longer than so many looks is not waited for. */
const LOOKS_AT_WRITTEN = 30;
const SECRET_BYTES_MAX = 65_536;
/** A table of at least this many rows that loses more than half of them may be cut. */
const SHRUNK_ROWS_MIN = 20;
const BACK_FOR_MS = 86_400_000;

export class GivenReader {
  private readonly underWay = new Set<string>();
  /** By the names of sources, files as they were when they were last read, well or not. */
  private readonly looked = new Map<string, string>();

  constructor(private readonly parts: Parts) {}

  /** Until `signal` aborts. Never rejects. A source that hangs does not keep the others waiting. */
  async untilEnding(sources: () => readonly GivenSource[], signal: AbortSignal): Promise<void> {
    const { clock, log } = this.parts;
    let now: readonly GivenSource[] | undefined;
    const reading = new Set<Promise<void>>();
    while (!signal.aborted) {
      const due = sources();
      if (due !== now)
        await this.parts.tables
          .forgetOthers(due)
          .catch((error) => log.warn({}, `old tables of sources: ${lineOf(error)}`));
      now = due;
      const one = this.readDue(due, signal).then(() => {});
      reading.add(one);
      void one.finally(() => reading.delete(one));
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => {}); // being stopped
    }
    await Promise.all(reading);
  }

  /** As `readDue`, for who does not come again: files that are being written are waited for, half a minute. Never rejects. */
  async readSettled(sources: readonly GivenSource[], signal: AbortSignal): Promise<void> {
    for (let looks = 0; looks < LOOKS_AT_WRITTEN && !signal.aborted; looks += 1) {
      if (!(await this.readDue(sources, signal))) return;
      await this.parts.clock.sleep(LOOK_EVERY_MS, signal).catch(() => {}); // being stopped
    }
  }

  /** Reads those that are due, at the same time. Never rejects. True: a file is being written, and is read later. */
  async readDue(sources: readonly GivenSource[], signal: AbortSignal): Promise<boolean> {
    const idle = sources.filter(({ name }) => !this.underWay.has(name));
    const later = await Promise.all(
      idle.map(async (source) => {
        this.underWay.add(source.name);
        try {
          return (await this.readOne(source, signal)) === 'later';
        } catch (error) {
          this.parts.log.error(
            { source: source.name },
            `the source \`${source.name}\` could not be kept: ${lineOf(error)}`,
          );
          return false;
        } finally {
          this.underWay.delete(source.name);
        }
      }),
    );
    return later.includes(true);
  }

  /** What needs a person: a source that failed at two readings, or whose data is too old; and for a day, that this is over. */
  async alerts(sources: readonly GivenSource[]): Promise<Alert[]> {
    const nowMs = this.parts.clock.nowMs();
    const alerts: Alert[] = [];
    for (const source of sources) {
      const reading = await this.parts.tables.standing(source);
      const { name } = source;
      const about = { source: name };
      const doubt = reading.triedAt === undefined ? undefined : doubtOf(reading, nowMs);
      if (doubt !== undefined) {
        const text = `source ${name}: ${doubt}; rules that read it are unknown until it is read`;
        alerts.push({ key: `source ${name} stale`, code: 'facts_stale', text, about });
      } else if (isFailing(reading, nowMs)) {
        const text = `source ${name} could not be read since ${timeText(reading.fault?.sinceMs ?? nowMs)}: ${reading.fault?.text}; its last data counts for ${spanText(source.freshMs)}`;
        alerts.push({ key: `source ${name} fails`, code: 'facts_failing', text, about });
      } else if (reading.back && nowMs - reading.back.at < BACK_FOR_MS) {
        const text = `source ${name} is read again since ${timeText(reading.back.at)}; it was not since ${timeText(reading.back.sinceMs)}`;
        alerts.push({ key: `source ${name} back ${reading.back.at}`, code: 'facts_back', text, about });
      }
    }
    return alerts;
  }

  private async readOne(source: GivenSource, signal: AbortSignal): Promise<'later' | undefined> {
    const { tables, clock, log } = this.parts;
    const [standing, nowMs] = [await tables.standing(source), clock.nowMs()];
    const { table: kept, mark: known, back } = standing;
    const seen = await this.fileOf(source);
    const isChanged = seen !== undefined && seen !== (this.looked.get(source.name) ?? known);
    const sinceMs = nowMs - (standing.triedAt ?? Number.NEGATIVE_INFINITY);
    if (sinceMs >= 0 && sinceMs < source.everyMs && !isChanged) return;
    if (seen !== undefined) this.looked.set(source.name, seen);
    const before = { meaning: meaningOf(source), ...(back && { back }), triedAt: nowMs };
    try {
      const sink = new TableBuilder(source, isText(source));
      const mark = kept && known;
      const read = await this.read(source, { mark, nowMs, signal }, sink);
      if (read === 'later') {
        this.looked.delete(source.name);
        return read;
      }
      const over = { ...before, ...backOf(standing, nowMs) };
      if (kept && (read === 'unchanged' || 'unchangedAtMs' in read)) {
        const atMs = read === 'unchanged' ? kept.atMs : read.unchangedAtMs;
        await tables.keep(source, { ...over, mark, table: { ...kept, atMs, readAt: nowMs } });
        return;
      }
      if (read === 'unchanged' || 'unchangedAtMs' in read)
        throw unusable('it answers that nothing changed, and was not read before');
      const content = await sink.finish();
      demandWhole(content, standing, nowMs);
      const { hash, found, problems } = content;
      const table = { hash, found, problems, atMs: read.atMs, readAt: nowMs };
      await tables.keep(source, { ...over, mark: read.mark, table }, hash === kept?.hash ? undefined : content);
      if (standing.fault)
        log.info({ source: source.name }, `the source \`${source.name}\` is read again: ${found.rows} rows`);
    } catch (error) {
      if (signal.aborted) return;
      const text = lineOf(error);
      if (standing.fault?.text !== text)
        log.warn({ source: source.name }, `the source \`${source.name}\` could not be read: ${text}`);
      const fault = { text, sinceMs: standing.fault?.sinceMs ?? nowMs };
      const last: Partial<GivenState> = kept ? { mark: known, table: kept } : {};
      await tables.keep(source, { ...before, ...last, fault });
    }
  }

  /** A file is watched: one that changed is read at once. Undefined: no file. */
  private async fileOf({ origin }: GivenSource): Promise<string | undefined> {
    const { folder } = this.parts.access;
    return origin.by === 'file' && folder !== undefined ? markNow(folder, origin.path) : undefined;
  }

  private async read(
    { origin }: GivenSource,
    { mark, nowMs, signal }: { mark: string | undefined; nowMs: number; signal: AbortSignal },
    sink: RowSink,
  ): Promise<Read> {
    const { access } = this.parts;
    const { folder } = access;
    if (folder === undefined)
      throw unusable('TRUSTWARD_SOURCES is not set: give the folder that has the files and secrets of sources');
    if (origin.by === 'file') return readGivenFile(origin, { folder, mark, nowMs }, sink);
    if (origin.by === 'postgres')
      return readPostgres(origin, { url: await this.secret(origin.url, folder), nowMs, signal }, sink);
    const secret = origin.auth && (await this.secret(origin.auth.secret, folder));
    return readHttp(origin, { network: access, secret, mark, nowMs, signal }, sink);
  }

  /** Read each time: a new one is in force at the next reading. */
  private async secret(at: SecretPlace, folder: string): Promise<string> {
    if ('env' in at) {
      const value = this.parts.access.variable(at.env)?.trim();
      if (!value) throw unusable(`the variable ${at.env} is not set`);
      return value;
    }
    const secret = (await textBelow(folder, at.file, SECRET_BYTES_MAX)).split('\n')[0]?.trim();
    if (!secret) throw unusable(`\`${at.file}\` is empty`);
    return secret;
  }
}

function isText({ origin }: GivenSource): boolean {
  return origin.by === 'postgres' || origin.format === 'csv';
}

function isFailing({ source, fault }: GivenStanding, nowMs: number): boolean {
  return fault !== undefined && nowMs - fault.sinceMs >= source.everyMs;
}

/** Where people were alerted of it. Data that is still stale goes before it. */
function backOf(reading: GivenStanding, nowMs: number): Pick<GivenState, 'back'> {
  const isStale = reading.triedAt !== undefined && doubtOf(reading, nowMs) !== undefined;
  if (!isStale && !isFailing(reading, nowMs)) return {};
  const sinceMs = reading.fault?.sinceMs ?? (reading.table?.atMs ?? nowMs) + reading.source.freshMs;
  return { back: { at: nowMs, sinceMs } };
}

/** Errors: AppError `api_answer` where most rows are gone, as long as the earlier data counts. */
function demandWhole(content: TableContent, reading: GivenStanding, nowMs: number): void {
  const before = doubtOf(reading, nowMs) === undefined ? reading.table : undefined;
  const [rows, had] = [content.found.rows, before?.found.rows ?? 0];
  if (had < SHRUNK_ROWS_MIN || rows * 2 >= had) return;
  throw unusable(
    `it has ${rows} rows, and had ${had}: it may be cut, and counts when the earlier data is older than ${spanText(reading.source.freshMs)}`,
  );
}
