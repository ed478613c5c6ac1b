// The daemon's own backups: one each period, counted from the newest file, so that a restart makes none early. In: settings, a clock. Out:
// verified files, and the newest few of them. INVARIANT: an old one is removed only after a new one was verified and has its name.
import type { Composition } from '../compose/compose.ts';
import type { BackupSettings } from '../config/backup.ts';
import { lineOf } from '../domain/errors.ts';
import type { Alert } from '../domain/notification.ts';
import type { Clock, Log } from '../domain/ports.ts';
import { isoTime, timeText } from '../domain/time-text.ts';
import { BackupFolder, isOverdue, type KeptBackup } from '../store/backup-folder.ts';
import { type MakeBackup, makeBackup } from './backup-process.ts';

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
const MADE_WITHIN_MS = 6 * 3_600_000;

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
    const limit = AbortSignal.timeout(MADE_WITHIN_MS);
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
