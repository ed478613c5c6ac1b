// Long work that the daemon neither waits for nor feels: a command of ours in a process of its own, of low priority. So are evidence of the rules,
// the page's replays and backups made. In: a composition. Out: what is kept of each. No credential is handed on but the password of PostgreSQL: such a
// command reads what is recorded, and nothing else.

import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DAY_MS, isoTime, MINUTE_MS, timeText } from '../../base/time.ts';
import type { Database } from '../../domain/database.ts';
import { AppError, lineOf } from '../../domain/errors.ts';
import type { EvidenceReader } from '../../domain/evidence.ts';
import { givenTime } from '../../domain/given-time.ts';
import type { Alert } from '../../domain/notification.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import {
  type AskedReplay,
  NOTE,
  REPLAY_WITHIN_MS,
  type ReplayBeside,
  type ReplayKeeper,
  type ReplaysBeside,
} from '../../domain/replay.ts';
import { contentOf } from '../../history/evidence/evidence-files.ts';
import { folderNames } from '../../rules/active/rule-holder.ts';
import type { LoadedRule } from '../../rules/language/loaded-rule.ts';
import { BackupFolder, isOverdue, type KeptBackup } from '../../store/sqlite/backup.ts';
import type { Composition } from '../compose/compose.ts';
import type { BackupSettings } from '../config/config.ts';
import { databaseFlags } from '../config/name-reader.ts';
import { readingOf } from '../operations/performer.ts';

const PASSED_ON = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'TZ', 'LD_LIBRARY_PATH'];
/** Where a command finds the database, what lies beside it, and which organizations there are. */
const OF_POSTGRES = [
  ...['TRUSTWARD_STATE', 'TRUSTWARD_ORGANIZATIONS', 'TRUSTWARD_DB_PASSWORD', 'TRUSTWARD_DB_PASSWORD_FILE'],
  ...['PGPASSWORD', 'PGPASSFILE'],
];
const TEXT_MAX = 1_000_000;

const OWN = 'trustward: ';
const CRASH = /^\w*Error\b.*:|^FATAL ERROR: /;

export interface EndedProcess {
  /** Null: a signal ended it. */
  code: number | null;
  out: string;
  err: string;
}

export function endOf(code: number | null): string {
  return `its process ended with ${code ?? 'a signal'}`;
}

/** What it said last. A process that crashes writes a stack and its version after what went wrong. */
export function faultOf(err: string): string | undefined {
  const lines = err.trim().split('\n').filter(Boolean);
  const fault =
    lines.findLast((line) => line.startsWith(OWN)) ?? lines.find((line) => CRASH.test(line)) ?? lines.at(-1);
  return fault?.replace(OWN, '');
}

export interface BesideOptions {
  outMax?: number;
  isPostgres?: boolean;
  /** Called with all that it has written to standard error so far. */
  said?: (err: string) => void;
}

/**
 * Killed at once when `signal` aborts. `outMax`: characters of its output that are kept.
 */
async function runBeside(
  args: string[],
  signal: AbortSignal,
  { outMax = TEXT_MAX, isPostgres = false, said }: BesideOptions = {},
): Promise<EndedProcess> {
  // From sources the loader is needed there, too; what is built needs none.
  const extension = extname(import.meta.url);
  const main = fileURLToPath(new URL(`../../main${extension}`, import.meta.url));
  const loader = extension === '.ts' ? ['--import', 'tsx'] : [];
  const names = isPostgres ? [...PASSED_ON, ...OF_POSTGRES] : PASSED_ON;
  const env = Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  const child = spawn(process.execPath, [...loader, main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    if (out.length < outMax) out += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err = `${err}${chunk}`.slice(-TEXT_MAX);
    said?.(err);
  });
  if (signal.aborted) kill();
  signal.addEventListener('abort', kill, { once: true });
  try {
    return await new Promise((resolve, reject) => {
      child.on('error', (error) =>
        reject(new AppError('store_failed', `its process cannot be started (${error.message})`)),
      );
      child.on('spawn', () => lessUrgent(child.pid));
      child.on('close', (code) => resolve({ code, out, err }));
    });
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** The daemon goes first. */
function lessUrgent(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has ended already, or this may not be changed here.
  }
}

// The daemon's evidence of the loaded rules: once a day, and soon after a rule changed, by the command `rules evidence`
// in a process of its own.

type MakeEvidence = (signal: AbortSignal) => Promise<void>;

/** A daemon that has just begun has other work; the embedded demo has little, and is looked at now. */
const FIRST_AFTER_MS = 10 * MINUTE_MS;
const FIRST_AFTER_MS_DEMO = MINUTE_MS / 2;
/** For a rule that has none, and after a failure. */
const AGAIN_AFTER_MS = 60 * MINUTE_MS;
const MADE_WITHIN_MS = 3 * 60 * MINUTE_MS;

export function dailyEvidenceOf(composition: Composition): DailyEvidence {
  const { config, rules, clock, log } = composition;
  const { evidence: kept } = readingOf(composition);
  const make = makeEvidence(config.database, config.rulesDir);
  const firstAfterMs = config.api ? FIRST_AFTER_MS : FIRST_AFTER_MS_DEMO;
  return new DailyEvidence({ kept, rules: () => rules.all(), make, clock, log, firstAfterMs });
}

/** Killed at once when the signal aborts. Errors: AppError `internal` with the last words of the process. */
function makeEvidence(database: Database, rulesDir: string): MakeEvidence {
  const args = ['rules', 'evidence', ...databaseFlags(database), '--rules', rulesDir, '--format', 'json'];
  return async (signal) => {
    const { code, err } = await runBeside(args, signal, { outMax: 0 });
    if (code !== 0) throw new AppError('internal', faultOf(err) ?? endOf(code));
  };
}

export class DailyEvidence {
  private readonly beganAtMs: number;
  private triedAtMs: number | undefined;

  constructor(
    private readonly parts: {
      kept: EvidenceReader;
      rules(): readonly LoadedRule[];
      make: MakeEvidence;
      clock: Clock;
      log: Log;
      firstAfterMs?: number;
    },
  ) {
    this.beganAtMs = parts.clock.nowMs();
  }

  /** Until `signal` aborts, which breaks off what is being made. Never rejects. */
  async untilEnding(signal: AbortSignal): Promise<void> {
    const { clock } = this.parts;
    while (!signal.aborted) {
      if (this.isDue()) await this.attempt(signal);
      await clock.sleep(MINUTE_MS, signal).catch(() => {}); // being stopped
    }
  }

  private isDue(): boolean {
    const { kept, rules, clock, firstAfterMs = FIRST_AFTER_MS } = this.parts;
    if (!kept.isKept()) return false;
    const nowMs = clock.nowMs();
    const since = this.triedAtMs ?? this.beganAtMs;
    // A clock that was set back must not put it off for longer.
    if (Math.abs(nowMs - since) < (this.triedAtMs === undefined ? firstAfterMs : AGAIN_AFTER_MS)) return false;
    return rules().some((rule) => {
      const evidence = kept.of(rule.hash);
      if (evidence === undefined || evidence.tests.hash !== contentOf(rule).tests) return true;
      return Math.abs(nowMs - evidence.madeAtMs) >= DAY_MS;
    });
  }

  private async attempt(signal: AbortSignal): Promise<void> {
    const { make, clock, log } = this.parts;
    this.triedAtMs = clock.nowMs();
    const limit = AbortSignal.timeout(MADE_WITHIN_MS);
    try {
      await make(AbortSignal.any([signal, limit]));
      log.info({}, 'evidence of the rules was made');
    } catch (error) {
      if (signal.aborted) return;
      const text = limit.aborted ? 'it did not end in time' : lineOf(error);
      log.warn({}, `no evidence of the rules was made: ${text}; it is tried again in an hour`);
    }
  }
}

// The replays that people ask the page for: the command `replay` in a process of its own, one at a time, bounded in
// time.

/** Characters: more is no page that a person reads. */
const FOUND_MAX = 16_000_000;

export function replaysOf(
  { config, clock, log, ending }: Composition,
  keeper: ReplayKeeper = new ReplayInMemory(),
): Replays {
  return new Replays({
    database: config.database,
    rulesDir: config.rulesDir,
    run: runBeside,
    ...{ keeper, clock, log },
    ending: ending.asked,
  });
}

export class Replays implements ReplaysBeside {
  constructor(
    private readonly parts: {
      database: Database;
      rulesDir: string;
      run: typeof runBeside;
      keeper: ReplayKeeper;
      clock: Pick<Clock, 'nowMs'>;
      log: Pick<Log, 'warn'>;
      /** Aborted when the process is to end. */
      ending: AbortSignal;
    },
  ) {}

  async begin(asked: AskedReplay, by: string): Promise<void> {
    const { clock, keeper, log } = this.parts;
    const startedAt = clock.nowMs();
    if (givenTime(asked.since, 'since', startedAt, 'before') >= startedAt)
      throw new AppError('usage', `since \`${asked.since}\`: expected a time in the past`);
    const begun: ReplayBeside = { asked, by, startedAt, finishedAt: undefined, found: undefined, fault: undefined };
    if (!(await keeper.begin(begun)))
      throw new AppError('busy', 'a replay is under way: wait until it ends', { retryAfterMs: 10_000 });
    const lost = (error: unknown) => log.warn({}, `what a replay found could not be kept: ${lineOf(error)}`);
    let last = begun;
    let kept = Promise.resolve();
    const said = (err: string) => {
      kept = kept
        .then(() => this.noted(last, notesIn(err)))
        .then((now) => {
          last = now;
        }, lost);
    };
    void this.made(asked, said)
      .then(async (end) => {
        await kept;
        await keeper.end(last, { ...last, ...end, finishedAt: clock.nowMs() });
      })
      .catch(lost);
  }

  current(): Promise<ReplayBeside | undefined> {
    return this.parts.keeper.last();
  }

  private async noted(last: ReplayBeside, notes: readonly string[]): Promise<ReplayBeside> {
    if (notes.length === (last.notes?.length ?? 0)) return last;
    const now = { ...last, notes };
    await this.parts.keeper.goesOn(last, now);
    return now;
  }

  /** Never rejects. */
  private async made(
    { way, since, rule }: AskedReplay,
    said: (err: string) => void,
  ): Promise<Pick<ReplayBeside, 'found' | 'fault'>> {
    const { database, rulesDir, run, ending } = this.parts;
    const isPostgres = database.kind === 'postgres';
    const args = ['replay', ...databaseFlags(database), '--format', 'json', `--since=${since}`];
    if (way === 'what_if') args.push(`--rules=${rulesDir}`);
    if (rule !== undefined) args.push(`--rule=${rule}`);
    const late = AbortSignal.timeout(REPLAY_WITHIN_MS);
    try {
      const { code, out, err } = await run(args, AbortSignal.any([ending, late]), {
        outMax: FOUND_MAX,
        isPostgres,
        said,
      });
      const found = foundIn(out);
      // An endpoint answers for workers of other machines: paths of them are of no use there.
      const names = isPostgres && way === 'what_if' ? { rulesDir: folderNames(rulesDir) } : undefined;
      if (found) return { found: { ...found, ...names }, fault: undefined };
      if (late.aborted)
        return failed(`it was broken off after ${REPLAY_WITHIN_MS / 60_000} minutes: ask for less time, or one rule`);
      if (out.length >= FOUND_MAX) return failed('it found more than a page can show: `trustward replay` prints it');
      return failed(faultOf(err) ?? endOf(code));
    } catch (error) {
      return failed(lineOf(error));
    }
  }
}

/** Of one process: a restart forgets it. */
export class ReplayInMemory implements ReplayKeeper {
  private kept: ReplayBeside | undefined;

  async begin(replay: ReplayBeside): Promise<boolean> {
    if (this.kept && this.kept.finishedAt === undefined) return false;
    this.kept = replay;
    return true;
  }

  async goesOn(before: ReplayBeside, now: ReplayBeside): Promise<void> {
    await this.end(before, now);
  }

  async end(begun: ReplayBeside, ended: ReplayBeside): Promise<void> {
    if (this.kept === begun) this.kept = ended;
  }

  async last(): Promise<ReplayBeside | undefined> {
    return this.kept;
  }
}

/** Whole lines alone. */
function notesIn(err: string): string[] {
  const lines = err.split('\n').slice(0, -1);
  return lines.filter((line) => line.startsWith(NOTE)).map((line) => line.slice(NOTE.length));
}

function failed(fault: string): Pick<ReplayBeside, 'found' | 'fault'> {
  return { found: undefined, fault };
}

/** Exit code 1 has a result, too, when a decision differs. */
function foundIn(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

// The daemon's backup, made by the command `db backup` in a process of its own: copying and checking a large database
// takes minutes, which the daemon neither waits for nor feels.

interface MadeBackup {
  bytes: number;
  /** Of the audit in the copy. */
  entries: number;
}

export type MakeBackup = (database: string, target: string, signal: AbortSignal) => Promise<MadeBackup>;

/**
 * Killed at once when `signal` aborts. Errors: AppError `stopped`; `store_failed` with the last words of the process; `store_damaged` when
 * the audit of the copy is broken: it replaces no good one.
 */
export const makeBackup: MakeBackup = async (database, target, signal) => {
  const { code, out, err } = await runBeside(['db', 'backup', target, '--db', database, '--format', 'json'], signal);
  if (signal.aborted) throw new AppError('stopped', 'the backup was broken off');
  const result = resultOf(out);
  if (result === undefined || code === null || code > 1) {
    throw new AppError('store_failed', faultOf(err) ?? endOf(code));
  }
  if (code === 1 || !result.audit.ok) {
    rmSync(target, { force: true });
    const text = 'the audit in the copy is broken, and so is that of the database: `trustward audit verify` says where';
    throw new AppError('store_damaged', text);
  }
  return { bytes: result.bytes, entries: result.audit.entries };
};

function resultOf(text: string): { bytes: number; audit: { ok: boolean; entries: number } } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The daemon's own backups: one each period, counted from the newest file, so that a restart makes none early. In:
// settings, a clock. Out: verified files, and the newest few of them. INVARIANT: an old one is removed only after a new
// one was verified and has its name.

export interface BackupState {
  /** The newest good one; undefined when there is none. */
  last: KeptBackup | undefined;
  /** The last attempt failed; undefined when it did not. */
  fault: { since: number; text: string } | undefined;
  /** The last good one is overdue by more than an hour. */
  isLate: boolean;
}

/** After a failed attempt; the disk may have been cleaned up by then. */
const RETRY_MS = 3_600_000;
/** The clock may jump, and a person may remove files. */
const LOOK_EVERY_MS = 60_000;
/** Far longer than a copy takes: its process hangs. */
const BACKUPS_MADE_WITHIN_MS = 6 * 3_600_000;

/** Undefined when they are off. */
export function backupsOf(composition: Composition): Backups | undefined {
  const { config, databaseId, log, clock, notifications } = composition;
  if (!config.backup) return undefined;
  const folder = new BackupFolder(config.backup.folder, config.db, databaseId);
  const afterwards = () => notifications.afterwards();
  const settings = config.backup;
  const backups = new Backups({ settings, database: config.db, folder, make: makeBackup, clock, log, afterwards });
  notifications.alsoAlert(() => backups.conditions());
  return backups;
}

export class Backups {
  private last: KeptBackup | undefined;
  private fault: BackupState['fault'];
  private retryAtMs = 0;

  constructor(
    private readonly parts: {
      settings: BackupSettings;
      database: string;
      folder: BackupFolder;
      make: MakeBackup;
      clock: Clock;
      log: Log;
      /** After each attempt: alerts begin or end. */
      afterwards(): Promise<void>;
    },
  ) {}

  /** Until `signal` aborts, which breaks off one that is being made. Never rejects. */
  async untilEnding(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await this.dueInMs();
      if (waitMs <= 0) await this.attempt(signal);
      else await this.parts.clock.sleep(Math.min(waitMs, LOOK_EVERY_MS), signal).catch(() => {}); // being stopped
    }
  }

  state(): BackupState {
    const { settings, clock } = this.parts;
    const { last } = this;
    const isLate = last !== undefined && isOverdue(last, settings.everyMs, clock.nowMs());
    return { last, fault: this.fault, isLate };
  }

  /** What needs a person. */
  conditions(): Alert[] {
    const { last, fault, isLate } = this.state();
    if (!fault && !isLate) return [];
    const good = last === undefined ? 'there is no good one' : `the last good one is of ${timeText(last.atMs)}`;
    const text = `no backup is made: ${fault?.text ?? 'it is overdue'}; ${good}`;
    const about = { fault: fault?.text ?? null, lastGood: last === undefined ? null : isoTime(last.atMs) };
    return [{ key: 'backup', code: 'backup', text, about }];
  }

  private async dueInMs(): Promise<number> {
    await this.look();
    const { settings, clock } = this.parts;
    const nowMs = clock.nowMs();
    // A clock that was set back must not put the next attempt off for longer.
    const retryInMs = Math.min(this.retryAtMs - nowMs, RETRY_MS);
    const { last } = this;
    return Math.max(last === undefined ? 0 : last.atMs + settings.everyMs - nowMs, this.fault ? retryInMs : 0);
  }

  private async look(): Promise<void> {
    const { folder, clock } = this.parts;
    // The next attempt reports what is wrong with the folder.
    this.last = await folder.newest(clock.nowMs()).catch(() => undefined);
  }

  private async attempt(signal: AbortSignal): Promise<void> {
    const { settings, database, folder, make, clock, log, afterwards } = this.parts;
    const atMs = clock.nowMs();
    const limit = AbortSignal.timeout(BACKUPS_MADE_WITHIN_MS);
    try {
      await folder.prepare();
      const { bytes, entries } = await make(database, folder.partial(), AbortSignal.any([signal, limit]));
      const made = await folder.accept(atMs);
      this.fault = undefined;
      this.last = made;
      log.info({ file: made.file, bytes, entries }, `a backup was made and verified: ${made.file}`);
      await this.removeOld(made);
    } catch (error) {
      if (signal.aborted) return;
      const text = limit.aborted ? 'it did not end in time' : lineOf(error);
      this.fault = { since: this.fault?.since ?? atMs, text };
      this.retryAtMs = clock.nowMs() + Math.min(settings.everyMs, RETRY_MS);
      log.error({ folder: folder.folder }, `no backup was made: ${text}; the good ones stay, and it is tried again`);
    } finally {
      // What was broken off, or failed, leaves nothing.
      await folder.prepare().catch(() => {}); // the next attempt reports what is wrong with the folder
    }
    await afterwards();
  }

  private async removeOld(made: KeptBackup): Promise<void> {
    const { folder, settings, log } = this.parts;
    try {
      for (const file of await folder.rotate(made, settings.keep))
        log.info({ file }, `an old backup was removed: ${file}`);
    } catch (error) {
      log.warn({}, `an old backup could not be removed: ${lineOf(error)}`);
    }
  }
}
