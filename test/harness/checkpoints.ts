// harness: the file of checkpoints outside the database, in memory: it outlives every crash, and a crash may come before a line is
// written, in the middle of it, or after it. In: lines. Out: the lines that are whole.
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import {
  CheckpointFile,
  databaseLineWith,
  keyIdOf,
  type Outside,
  parseDatabaseLine,
  signingWith,
} from '../../src/engine/audit/signing-key.ts';
import type { Life } from '../support/crash.ts';

/** Always the same, so that equal seeds sign equal bytes: an Ed25519 key in PKCS #8. */
const KEY = createPrivateKey({
  key: Buffer.from(`302e020100300506032b657004220420${'5a'.repeat(32)}`, 'hex'),
  format: 'der',
  type: 'pkcs8',
});
export const databaseLine = databaseLineWith(KEY);
export const PUBLIC_KEYS = new Map([[keyIdOf(KEY), createPublicKey(KEY)]]);
export const signing = signingWith(KEY, PUBLIC_KEYS);
export const publicPem = createPublicKey(KEY).export({ type: 'spki', format: 'pem' }) as string;
/** As `evidenceSigner` signs. */
export const signEvidence = (text: string) => sign(null, Buffer.from(`\u0007${text}`), KEY).toString('base64');

export class SimCheckpointFile extends CheckpointFile {
  /** `disk.text` undefined: there is no file yet. */
  constructor(
    private readonly disk: { text: string | undefined } = { text: undefined },
    private readonly life?: Life,
  ) {
    super('in memory');
  }

  /** The file as a process has it open: what a life that ended still had in hand is not written. */
  in(life: Life): SimCheckpointFile {
    return new SimCheckpointFile(this.disk, life);
  }

  /** Returns a way to restore its current content. */
  keep(): () => void {
    const { text } = this.disk;
    return () => {
      this.disk.text = text;
    };
  }

  lose(): void {
    this.disk.text = undefined;
  }

  override lines(): string[] | undefined {
    const [first = '', ...rest] = this.whole() ?? [];
    if (this.disk.text === undefined) return undefined;
    return parseDatabaseLine(first) ? rest : this.whole();
  }

  override look(): Outside {
    this.life?.step();
    const [first] = this.whole() ?? [];
    const named = first !== undefined && parseDatabaseLine(first) ? first : undefined;
    return { isMissing: this.disk.text === undefined, named, last: this.lines()?.at(-1) };
  }

  override mend(): void {
    this.disk.text = this.disk.text?.slice(0, this.disk.text.lastIndexOf('\n') + 1);
  }

  override append(lines: readonly string[]): void {
    for (const line of lines) {
      this.add('');
      this.add(line.slice(0, line.length / 2));
      this.add(`${line.slice(line.length / 2)}\n`);
    }
  }

  override write(named: string, lines: readonly string[]): void {
    this.life?.step();
    this.disk.text = [named, ...lines].map((line) => `${line}\n`).join('');
    this.life?.step();
  }

  override setAside(suffix: string): string | undefined {
    this.life?.step();
    const aside = this.disk.text === undefined ? undefined : `${this.name}.${suffix}`;
    this.disk.text = undefined;
    this.life?.step();
    return aside;
  }

  private whole(): string[] | undefined {
    return this.disk.text?.split('\n').slice(0, -1);
  }

  private add(text: string): void {
    this.disk.text = (this.disk.text ?? '') + text;
    this.life?.step();
  }
}
