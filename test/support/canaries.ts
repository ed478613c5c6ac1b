// support: secrets that stand out, and a search for them. In: names; texts, bytes. Out: which of them is there, in which form, also in part: 15
// characters of one in a row are found. Nothing here is a secret.
import { createHash } from 'node:crypto';
import { formsOf } from '../../src/base/secret-texts.ts';

const PIECE = 8;
/** Of hexadecimal digits: 8 of them occur by chance. */
const PIECE_HEX = 16;

/** Looks random, and is the same each time. `with`: characters in its middle that are written differently by each encoding. */
export function canaryOf(name: string, middle = '/.+='): string {
  const text = createHash('sha256').update(`canary ${name}`).digest('base64url').replaceAll(/[-_]/g, 'x');
  return `${text.slice(0, 18)}${middle}${text.slice(18, 36)}`;
}

export class Canaries {
  private readonly pieces = new Map<string, string>();

  add(name: string, secret: string): string {
    for (const form of formsOf(secret)) {
      const size = /^[0-9a-f]+$/.test(form) ? PIECE_HEX : PIECE;
      for (let at = 0; at + size <= form.length; at += size) {
        const piece = form.slice(at, at + size);
        // A piece of escapes alone would be found in ordinary text.
        if (/\w{5}/.test(piece)) this.pieces.set(piece, name);
      }
    }
    return secret;
  }

  /** The names of those in it, each once. */
  in(text: string | Uint8Array, except: readonly string[] = []): string[] {
    const bytes = typeof text === 'string' ? text : Buffer.from(text).toString('latin1');
    const found = new Set<string>();
    for (const [piece, name] of this.pieces)
      if (!found.has(name) && !except.includes(name) && bytes.includes(piece)) found.add(name);
    return [...found];
  }
}
