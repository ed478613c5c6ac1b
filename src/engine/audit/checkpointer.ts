// audit: keeps the checkpoints outside in step with those in the database. At the start it names a new database outside, completes a
// file that a crash left behind, and notices a restored database, which it stops. In: the store's checkpoints, the file. Out: a
// Checkpointer. It never writes a file that is ahead of the database.
import type { AuditNote } from '../../domain/audit-entry.ts';
import type { Checkpointer, CheckpointStore } from '../../domain/checkpoint.ts';
import { lineOf } from '../../domain/errors.ts';
import { type Stop, stopText } from '../../domain/operator.ts';
import type { Clock, Ids, Log } from '../../domain/ports.ts';
import type { AuditStore, OperatorStore } from '../../domain/store-ports.ts';
import { type CheckpointFile, type Outside, type PublicKeys, parseCheckpoint } from './signing-key.ts';
import { type BelongingReader, belongingOf, sizeOf, WAY_ON } from './sources.ts';

export interface CheckpointerParts {
  store: CheckpointStore & BelongingReader & Pick<AuditStore, 'appendAudit'> & Pick<OperatorStore, 'stop' | 'setStop'>;
  file: CheckpointFile;
  /** Makes the line that names a database, signed. */
  databaseLine(id: string): string;
  /** All that ever signed for this database. */
  keys: PublicKeys;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Where several processes write the file: does this while no other one does. */
  alone?: (<T>(work: () => Promise<T>) => Promise<T>) | undefined;
}

/** The result of accepting a restored backup. */
export interface RestoreAccepted {
  /** The place of the former file of checkpoints; undefined when there was none. */
  aside: string | undefined;
  /** How many waiting plans expired. */
  plans: number;
  stop: Stop;
}

/** Who sets the stop of a restored database. */
const ITSELF = 'trustward';

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
  private noticed: string | undefined;
  private turn: Promise<void> = Promise.resolve();

  constructor(private readonly parts: CheckpointerParts) {}

  async open(): Promise<void> {
    await this.alone(() => this.compare());
    await this.seal();
  }

  private async compare(): Promise<void> {
    const { store, file, keys } = this.parts;
    file.mend();
    const outside = file.look();
    const belonging = await belongingOf(store, outside, keys);
    if (belonging.kind === 'restored') await this.noticeRestored(belonging.why, outside);
    // INVARIANT: named outside before the first entry is committed.
    else if (belonging.kind !== 'own') file.write(await this.named(), file.lines() ?? []);
    this.written = sizeOf(outside.last);
  }

  async seal(): Promise<void> {
    await this.parts.store.sealAudit();
    await this.publish();
  }

  /** One at a time: a line must not be written twice. */
  publish(): Promise<void> {
    this.turn = this.turn.then(() => this.alone(() => this.writeOut())).catch((error) => this.missed(error));
    return this.turn;
  }

  fault(): string | undefined {
    return this.behind;
  }

  restored(): string | undefined {
    return this.noticed;
  }

  /**
   * An operator chooses to continue with the restored database. What it permits may have been used or revoked since, so
   * nothing of it continues by itself: waiting plans expire, and everything is stopped until an operator resumes. The
   * file outside is set aside as evidence and rewritten from the database. Undefined: there was nothing to accept.
   * INVARIANT: stopped before the file outside agrees: a process that ends between the two is still restored.
   */
  async acceptRestore({ by, reason }: { by: string; reason: string }): Promise<RestoreAccepted | undefined> {
    if (this.noticed === undefined) return undefined;
    const { store, file, clock } = this.parts;
    const at = clock.nowMs();
    const suffix = `before-restore-${at}`;
    const before = await store.stop();
    const stop: Stop = { at, by, reason: `a restored backup was accepted: ${reason}${stoppedBefore(before)}` };
    const former = file.look().isMissing ? null : `${file.name}.${suffix}`;
    const { plans } = await store.acceptRestore({
      stop,
      notes: [
        { kind: 'restore.accepted', body: { by, reason, noticed: this.noticed, formerCheckpoints: former } },
        { kind: 'stop.set', body: { by, reason: stop.reason, since: at } },
      ],
    });
    await store.sealAudit();
    const aside = file.setAside(suffix);
    await this.rewrite();
    this.noticed = undefined;
    return { aside, plans, stop };
  }

  private async writeOut(): Promise<void> {
    if (this.noticed !== undefined) return;
    try {
      const { store, file, alone } = this.parts;
      if (alone) this.written = sizeOf(file.look().last); // others may have written since
      const lines = await store.checkpointLinesAfter(this.written);
      // A file that begins in the middle would prove nothing.
      if (lines.length > 0 && file.look().isMissing) await this.rewriteLost();
      else file.append(lines);
      if (lines.length > 0) this.written = sizeOf(lines.at(-1));
      this.behind = undefined;
    } catch (error) {
      this.missed(error);
      // A half-written line is removed before the next attempt.
      this.tearOff();
    }
  }

  private missed(error: unknown): void {
    if (this.behind === undefined) this.parts.log.error({}, `a checkpoint could not be written: ${lineOf(error)}`);
    this.behind = lineOf(error);
  }

  private alone<T>(work: () => Promise<T>): Promise<T> {
    return this.parts.alone ? this.parts.alone(work) : work();
  }

  private tearOff(): void {
    try {
      this.parts.file.mend();
      this.written = sizeOf(this.parts.file.look().last);
    } catch {
      // The disk does not even allow reading; the next attempt comes with the next checkpoint, or at the next start.
    }
  }

  /** The line of this database, which gets its id now when it has none. */
  private async named(): Promise<string> {
    const { store, ids, databaseLine } = this.parts;
    const known = await store.databaseId();
    const id = known ?? ids.next();
    if (known === undefined) await store.nameDatabase(id);
    return databaseLine(id);
  }

  /** Writes the whole file from the database. */
  private async rewrite(): Promise<string[]> {
    const lines = await this.parts.store.checkpointLinesAfter(0);
    this.parts.file.write(await this.named(), lines);
    this.written = sizeOf(lines.at(-1));
    return lines;
  }

  /** This process has named the database outside, so a missing file was removed under it. */
  private async rewriteLost(): Promise<void> {
    const { store, file, log } = this.parts;
    const lines = await this.rewrite();
    const text = `the checkpoints outside the database, \`${file.name}\`, were missing and have been written anew`;
    log.warn({ checkpoints: lines.length }, text);
    await store.appendAudit([
      { kind: 'audit.checkpoints_lost', body: { file: file.name, rewritten: lines.length, last: this.written } },
    ]);
  }

  /** A stop of an operator that is in force stays: whoever resumes must know of it. */
  private async noticeRestored(why: string, { last }: Outside): Promise<void> {
    const { store, file, clock, log } = this.parts;
    this.noticed = `this database was restored from a backup, or \`${file.name}\` was changed: ${why}; nothing is called until ${WAY_ON}`;
    log.error({}, this.noticed);
    const inside = (await store.checkpointLinesAfter(0)).at(-1);
    const body = { file: file.name, why, outside: reachOf(last), inside: reachOf(inside) };
    const note: AuditNote = { kind: 'database.restored', body };
    if ((await store.stop()) !== undefined) return store.appendAudit([note]);
    const stop = { at: clock.nowMs(), by: ITSELF, reason: `this is a restored database (${why}); to go on: ${WAY_ON}` };
    const { at: since, by, reason } = stop;
    await store.setStop(stop, [note, { kind: 'stop.set', body: { by, reason, since } }]);
  }
}

function reachOf(line: string | undefined): { size: number; head: string; at: number } | null {
  const checkpoint = parseCheckpoint(line ?? '');
  return checkpoint ? { size: checkpoint.size, head: checkpoint.head, at: checkpoint.at } : null;
}

/** The operator who resumes must know of both. */
function stoppedBefore(stop: Stop | undefined): string {
  return stop === undefined || stop.by === ITSELF ? '' : ` (stopped before: ${stopText(stop)})`;
}
