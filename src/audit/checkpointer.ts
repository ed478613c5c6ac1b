// audit: keeps the checkpoints outside in step with those in the database. At the start it completes a file that a
// crash left behind, and notices a database that is older than its file: a restored backup. In: the store's
// checkpoints, the file. Out: a Checkpointer. It never writes a file that is ahead of the database.
import type { AuditStore } from '../domain/audit-store.ts';
import type { Checkpointer, CheckpointReader, CheckpointStore } from '../domain/checkpoint.ts';
import { lineOf } from '../domain/errors.ts';
import { type Stop, stopText } from '../domain/operator.ts';
import type { Clock, Log } from '../domain/ports.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { isoTime } from '../domain/time-text.ts';
import { parseCheckpoint } from './checkpoint.ts';
import type { CheckpointFile } from './checkpoint-file.ts';

export interface CheckpointerParts {
  store: CheckpointStore & Pick<AuditStore, 'appendAudit'> & Pick<RecordReader, 'stop'>;
  file: CheckpointFile;
  clock: Clock;
  log: Log;
}

/** The result of accepting a restored backup. */
export interface RestoreAccepted {
  /** The place of the former file of checkpoints. */
  aside: string;
  /** How many waiting plans expired. */
  plans: number;
  stop: Stop;
}

/** Errors: AppError `store_failed` when the database or the file cannot be read or written. */
export async function openCheckpointer(parts: CheckpointerParts): Promise<FileCheckpointer> {
  const checkpointer = new FileCheckpointer(parts);
  await checkpointer.open();
  return checkpointer;
}

export class FileCheckpointer implements Checkpointer {
  /** How many entries the last line of the file covers. */
  private written = 0;
  private behind: string | undefined;
  private older: string | undefined;
  private turn: Promise<void> = Promise.resolve();

  constructor(private readonly parts: CheckpointerParts) {}

  async open(): Promise<void> {
    const { store, file } = this.parts;
    const { missing, last } = file.lastLine();
    if (missing) await this.beginFile();
    else if (last !== undefined) {
      if (await isOlder(store, last)) await this.noticeRestored(last);
      else this.written = sizeOf(last);
    }
    await this.seal();
  }

  async seal(): Promise<void> {
    await this.parts.store.sealAudit();
    await this.publish();
  }

  /** One at a time: a line must not be written twice. */
  publish(): Promise<void> {
    this.turn = this.turn.then(() => this.writeOut());
    return this.turn;
  }

  fault(): string | undefined {
    return this.behind;
  }

  restored(): string | undefined {
    return this.older;
  }

  /**
   * An operator chooses to continue with the older database. What it permits may have been used or revoked since, so
   * nothing of it continues by itself: waiting plans expire, and everything is stopped until an operator resumes. The
   * file outside is set aside as evidence and rewritten from the database. Undefined: there was nothing to accept.
   * INVARIANT: stopped before the file outside agrees: a process that ends between the two is still restored.
   */
  async acceptRestore({ by, reason }: { by: string; reason: string }): Promise<RestoreAccepted | undefined> {
    if (this.older === undefined) return undefined;
    const { store, file, clock } = this.parts;
    const at = clock.nowMs();
    const suffix = `before-restore-${at}`;
    const aside = `${file.name}.${suffix}`;
    const before = await store.stop();
    const stop: Stop = { at, by, reason: `a restored backup was accepted: ${reason}${stoppedBefore(before)}` };
    const body = { by, reason, noticed: this.older, formerCheckpoints: aside };
    const { plans } = await store.acceptRestore({
      stop,
      notes: [
        { kind: 'restore.accepted', body },
        { kind: 'stop.set', body: { by, reason: stop.reason, since: at } },
      ],
    });
    await store.sealAudit();
    const lines = await store.checkpointLinesAfter(0);
    file.replace(lines, suffix);
    this.written = sizeOf(lines.at(-1));
    this.older = undefined;
    return { aside, plans, stop };
  }

  private async writeOut(): Promise<void> {
    if (this.older !== undefined) return;
    try {
      const { store, file } = this.parts;
      const lines = await store.checkpointLinesAfter(this.written);
      // A file that begins in the middle would prove nothing.
      if (lines.length > 0 && this.written > 0 && file.lastLine().missing) await this.beginFile();
      else file.append(lines);
      if (lines.length > 0) this.written = sizeOf(lines.at(-1));
      this.behind = undefined;
    } catch (error) {
      if (this.behind === undefined) this.parts.log.error({}, `a checkpoint could not be written: ${lineOf(error)}`);
      this.behind = lineOf(error);
      // A half-written line is removed before the next attempt.
      this.tearOff();
    }
  }

  private tearOff(): void {
    try {
      this.written = sizeOf(this.parts.file.lastLine().last);
    } catch {
      // The disk does not even allow reading; the next attempt comes with the next checkpoint, or at the next start.
    }
  }

  /** The file is made before anything is sealed, so a missing one was removed later. */
  private async beginFile(): Promise<void> {
    const { store, file, log } = this.parts;
    const lines = await store.checkpointLinesAfter(0);
    file.replace(lines, 'unused');
    if (lines.length === 0) return;
    const last = parseCheckpoint(lines.at(-1) ?? '');
    this.written = last?.size ?? 0;
    const text = `the checkpoints outside the database, \`${file.name}\`, were missing and have been written anew`;
    log.warn({ checkpoints: lines.length }, text);
    await store.appendAudit([
      { kind: 'audit.checkpoints_lost', body: { file: file.name, rewritten: lines.length, last: last?.size ?? null } },
    ]);
  }

  private async noticeRestored(last: string): Promise<void> {
    const { store, file, log } = this.parts;
    const outside = parseCheckpoint(last);
    const inside = parseCheckpoint((await store.checkpointLinesAfter(0)).at(-1) ?? '');
    const reach = outside
      ? `reach to entry ${outside.size} of ${isoTime(outside.at)}`
      : 'end in a line that cannot be read';
    this.older =
      `the checkpoints in \`${file.name}\` ${reach}, which this database (its last one: entry ${inside?.size ?? 0}) does not ` +
      'have: an older backup was restored, or one of them was changed; no run changes anything until ' +
      '`trustward audit accept-restore --reason …`';
    log.error({}, this.older);
    await store.appendAudit([
      {
        kind: 'database.restored',
        body: {
          file: file.name,
          outside: outside ? { size: outside.size, head: outside.head, at: outside.at } : null,
          inside: inside ? { size: inside.size, head: inside.head, at: inside.at } : null,
        },
      },
    ]);
  }
}

/**
 * Whether the database lacks the last line of the file outside: an older backup was restored, or one of them was
 * changed. Each line has the hash of the one before, so one equal line means that all before it are equal.
 */
export async function isOlder(database: Pick<CheckpointReader, 'checkpointAt'>, lastLine: string): Promise<boolean> {
  return (await database.checkpointAt(sizeOf(lastLine))) !== lastLine;
}

/** The operator who resumes must know of both. */
function stoppedBefore(stop: Stop | undefined): string {
  return stop === undefined ? '' : ` (stopped before: ${stopText(stop)})`;
}

/** How many entries a line covers; 0 without one, or when it cannot be read. */
function sizeOf(line: string | undefined): number {
  return parseCheckpoint(line ?? '')?.size ?? 0;
}
