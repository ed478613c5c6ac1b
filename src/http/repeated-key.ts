// http: whether a body repeats a key. `JSON.parse` would use the last one, and a reader of the request might use the
// first. In: text that is JSON, at any depth. Out: the place of the first key that its object already has.

/** Strings, with the colon that makes one a key, and brackets: the rest of valid JSON says nothing about keys. */
const TOKEN = /("(?:[^"\\]|\\.)*")[ \t\r\n]*(:)?|[{}[\],]/g;

interface Level {
  /** Of an object; undefined for a list. */
  keys: Set<string> | undefined;
  /** The reader's position in it. */
  step: string | number;
}

export function repeatedKey(json: string): (string | number)[] | undefined {
  const levels: Level[] = [];
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (colon !== undefined && level?.keys) {
      const key = JSON.parse(text as string) as string;
      level.step = key;
      if (level.keys.has(key)) return levels.map(({ step }) => step);
      level.keys.add(key);
    } else if (token === '{') levels.push({ keys: new Set(), step: '' });
    else if (token === '[') levels.push({ keys: undefined, step: 0 });
    else if (token === '}' || token === ']') levels.pop();
    else if (token === ',' && typeof level?.step === 'number') level.step += 1;
  }
  return undefined;
}
