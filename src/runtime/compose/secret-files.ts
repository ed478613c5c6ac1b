// Credentials that are read again when their files change. In: files, and how each secret is put in force. Out: the new one in force, with an
// audit entry before. INVARIANT: an empty, unreadable or unfit file leaves the old one in force, and no secret is logged or audited.
import { createHmac } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { AuditNote } from '../../domain/audit-entry.ts';
import { lineOf } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/ports.ts';
import { secretIn } from '../config/name-reader.ts';

export interface SecretFile {
  /** As people know it: `TRUSTWARD_API_KEY_FILE`. */
  name: string;
  file: string;
  current(): string;
  /** What is wrong with it; undefined when nothing is. It does not repeat it. */
  fault(secret: string): string | undefined;
  take(secret: string): void;
}

const LOOK_EVERY_MS = 5_000;
/** A file that is being written is read again after this long: only what was read twice counts. */
const SAME_AFTER_MS = 1_000;
const BYTES_MAX = 65_536;

export class SecretFiles {
  /** What a file had at the last look, until it is in force. */
  private readonly seen = new Map<string, string>();
  private readonly faults = new Map<string, string>();
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parts: {
      files: readonly SecretFile[];
      append(notes: AuditNote[]): Promise<unknown>;
      clock: Clock;
      log: Log;
    },
  ) {}

  /** Until `signal` aborts. Never rejects. */
  async untilEnding(signal: AbortSignal): Promise<void> {
    const { files, clock } = this.parts;
    while (!signal.aborted && files.length > 0) {
      await clock.sleep(this.seen.size > 0 ? SAME_AFTER_MS : LOOK_EVERY_MS, signal).catch(() => {}); // being stopped
      if (!signal.aborted) await this.look();
    }
  }

  /** Puts in force what was the same at two looks. Never rejects. */
  look(): Promise<void> {
    return this.inTurn(({ name }, secret) => {
      const isSame = this.seen.get(name) === secret;
      this.seen.set(name, secret);
      return isSame;
    });
  }

  /** The server refused the credential in force: another one is tried at once, nothing is lost by it. Never rejects. */
  lookAtOnce(): Promise<void> {
    return this.inTurn(() => true);
  }

  private inTurn(isWanted: (file: SecretFile, secret: string) => boolean): Promise<void> {
    const looked = this.turn.then(async () => {
      for (const one of this.parts.files) await this.lookAt(one, isWanted);
    });
    this.turn = looked;
    return looked;
  }

  private async lookAt(one: SecretFile, isWanted: (file: SecretFile, secret: string) => boolean): Promise<void> {
    const { name } = one;
    try {
      const secret = await read(one.file);
      const fault = secret === undefined ? 'is empty' : one.fault(secret);
      if (secret === undefined || fault !== undefined) return this.failed(name, fault ?? '');
      this.faults.delete(name);
      if (secret === one.current()) this.seen.delete(name);
      else if (isWanted(one, secret)) await this.replace(one, secret);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      this.failed(name, `cannot be read (${code ?? lineOf(error)})`);
    }
  }

  /** INVARIANT: the entry is committed first: no call is made with a credential that the audit does not know of. */
  private async replace(one: SecretFile, secret: string): Promise<void> {
    const { append, log } = this.parts;
    const body = { name: one.name, mark: markOf(one.name, secret), before: markOf(one.name, one.current()) };
    try {
      await append([{ kind: 'credential.replaced', body }]);
    } catch (error) {
      return this.failed(one.name, `was changed, and the audit cannot record it: ${lineOf(error)}`);
    }
    one.take(secret);
    this.seen.delete(one.name);
    log.info(body, `${one.name} was changed: what it has now is in force`);
  }

  /** Once, until it changes. */
  private failed(name: string, fault: string): void {
    this.seen.delete(name);
    if (this.faults.get(name) === fault) return;
    this.faults.set(name, fault);
    this.parts.log.warn({ name }, `${name} ${fault}: what was read before stays in force`);
  }
}

/** Four hex digits show that two differ. They are too few to tell whether a guess is right: one in 65,536 fits. */
function markOf(name: string, secret: string): string {
  return createHmac('sha256', secret).update(name).digest('hex').slice(0, 4);
}

/**
 * A regular file alone: a pipe would never end, nor would opening one that nobody writes to. Its name is resolved each time, so that swapped links
 * are followed.
 */
async function read(file: string): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > BYTES_MAX) throw new Error(`it is larger than ${BYTES_MAX} bytes`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BYTES_MAX), 0, BYTES_MAX, 0);
    return secretIn(buffer.subarray(0, bytesRead).toString('utf8'));
  } finally {
    await handle.close();
  }
}
