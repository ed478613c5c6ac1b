// store: a long list in a column, read in turns: a plan of ten thousand intents is one document, and parsing it at once would keep stop
// and probes waiting. In: the text of a column. Out: the list that was written.
import { giveWay } from '../domain/give-way.ts';
import { storedJson } from './stored-json.ts';

/** Characters between two turns: a few milliseconds. A shorter text is parsed at once. */
const TURN_CHARACTERS = 262_144;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Errors: AppError `store_damaged`. */
export async function storedList<T>(text: string, rest: () => Promise<void> = giveWay): Promise<T[]> {
  if (text.length <= TURN_CHARACTERS) return storedJson<T[]>(text);
  const items: T[] = [];
  let depth = 0;
  let from = 1;
  let rested = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (OPENING.has(code)) depth += 1;
    else if (CLOSING.has(code)) depth -= 1;
    if ((depth !== 1 || code !== COMMA) && depth !== 0) continue;
    items.push(storedJson<T>(text.slice(from, at)));
    from = at + 1;
    if (from - rested < TURN_CHARACTERS) continue;
    rested = from;
    await rest();
  }
  return depth === 0 ? items : storedJson<T[]>(text); // it is cut: parsing it names the damage
}

/** The index of the closing quote; the end of the text without one, which is damage that parsing names. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}
