// evaluate: where a text stops being JSON. In: a text that JSON.parse refused without a position. Out: an offset and what was
// expected there. Iterative: the text may be nested without bound.
export interface JsonFault {
  offset: number;
  expected: string;
}

const TOKEN =
  /[ \t\r\n]*(?:([{}[\],:])|("(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/uy;

type State = 'value' | 'first_value' | 'first_key' | 'key' | 'colon' | 'more' | 'end';

const EXPECTED: Record<State, string> = {
  value: 'a value',
  first_value: 'a value or `]`',
  first_key: 'a key in quotation marks or `}`',
  key: 'a key in quotation marks',
  colon: '`:`',
  more: '`,` or the closing bracket',
  end: 'the end of the file',
};

export function findJsonFault(text: string): JsonFault {
  const open: string[] = [];
  let state: State = 'value';
  let offset = 0;
  for (;;) {
    const start = offset + (/^[ \t\r\n]*/.exec(text.slice(offset, offset + 10_000))?.[0].length ?? 0);
    TOKEN.lastIndex = offset;
    const token = TOKEN.exec(text);
    const next: State | null | undefined = token && after(state, token, open);
    if (!next || start >= text.length) return { offset: start, expected: EXPECTED[state] };
    state = next;
    offset = TOKEN.lastIndex;
  }
}

/** The state after a token; undefined when the token is not allowed here. Opens and closes brackets. */
function after(state: State, [, mark, text]: RegExpExecArray, open: string[]): State | undefined {
  const inside = (): State => (open.length > 0 ? 'more' : 'end');
  if (state === 'colon') return mark === ':' ? 'value' : undefined;
  if (state === 'key' || state === 'first_key') {
    if (text !== undefined) return 'colon';
    if (mark !== '}' || state === 'key') return undefined;
    open.pop();
    return inside();
  }
  if (state === 'more') {
    if (mark === ',') return open.at(-1) === '{' ? 'key' : 'value';
    if (mark !== (open.at(-1) === '{' ? '}' : ']')) return undefined;
    open.pop();
    return inside();
  }
  if (state === 'end') return undefined;
  if (mark === '{' || mark === '[') {
    open.push(mark);
    return mark === '{' ? 'first_key' : 'first_value';
  }
  if (mark === ']' && state === 'first_value') {
    open.pop();
    return inside();
  }
  return mark === undefined ? inside() : undefined;
}
