// harness: the file of checkpoints outside the database, in memory: it outlives every crash, and a crash may come before a line is
// written, in the middle of it, or after it. In: lines. Out: the lines that are whole.
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { keyIdOf } from '../../src/audit/checkpoint.ts';
import { CheckpointFile } from '../../src/audit/checkpoint-file.ts';
import { signingWith } from '../../src/audit/sealing.ts';
import type { Life } from '../support/crash.ts';

/** Always the same, so that equal seeds sign equal bytes: an Ed25519 key in PKCS #8. */
const KEY = createPrivateKey({
  key: Buffer.from(`302e020100300506032b657004220420${'5a'.repeat(32)}`, 'hex'),
  format: 'der',
  type: 'pkcs8',
});
export const PUBLIC_KEYS = new Map([[keyIdOf(KEY), createPublicKey(KEY)]]);
export const signing = signingWith(KEY, PUBLIC_KEYS);

export class SimCheckpointFile extends CheckpointFile {
  /** Undefined: there is no file yet. */
  private text: string | undefined;
  life: Life | undefined;

  constructor() {
    super('in memory');
  }

  /** Returns a way to restore its current content. */
  keep(): () => void {
    const { text } = this;
    return () => {
      this.text = text;
    };
  }

  override lines(): string[] | undefined {
    return this.text?.split('\n').slice(0, -1);
  }

  override lastLine(): { missing: boolean; last: string | undefined } {
    this.life?.step();
    if (this.text === undefined) return { missing: true, last: undefined };
    this.text = this.text.slice(0, this.text.lastIndexOf('\n') + 1);
    return { missing: false, last: this.lines()?.at(-1) };
  }

  override append(lines: readonly string[]): void {
    for (const line of lines) {
      this.write('');
      this.write(line.slice(0, line.length / 2));
      this.write(`${line.slice(line.length / 2)}\n`);
    }
  }

  override replace(lines: readonly string[]): undefined {
    this.life?.step();
    this.text = lines.map((line) => `${line}\n`).join('');
  }

  private write(text: string): void {
    this.text = (this.text ?? '') + text;
    this.life?.step();
  }
}
