// system: colour for a person at a terminal: the words of severity and outcome, whole words alone, wherever they stand. In: text
// that is laid out already. Out: the same text with escape sequences, which take no width. It never colours a zero count.

const CODES = { red: 31, green: 32, yellow: 33 } as const;

const WORDS: Readonly<Record<string, keyof typeof CODES>> = {
  ...wordsOf(
    'red',
    'not trusted|NOT TRUSTED|failed|error|problem|problems|aborted|parked|untrusted|NOT released|critical',
  ),
  ...wordsOf(
    'yellow',
    'warn|warning|warnings|unknown|held|hold|interrupted|expired|in doubt|INTERRUPTED PLAN|HELD FOR A PERSON|high',
  ),
  ...wordsOf('green', 'succeeded|confirmed|ok|trusted|completed|applied|released|all is well|the audit is whole'),
};

// In prose, `high` is no severity: it must end a cell.
const CELL_ENDS = '(?=\\s{2}|\\s*│|\\s*$)';
const ANY = Object.keys(WORDS).map((word) => (word === 'high' ? `${word}${CELL_ENDS}` : word));
const COLOURED = new RegExp(`(?<!\\w|-|\`|\\b0 )(${ANY.join('|')})(?!\\w|-|\`)`, 'gm');

function wordsOf(colour: keyof typeof CODES, words: string): Record<string, keyof typeof CODES> {
  return Object.fromEntries(words.split('|').map((word) => [word, colour]));
}

export function coloured(text: string): string {
  return text.replace(COLOURED, (word) => `\u001b[${CODES[WORDS[word] as keyof typeof CODES]}m${word}\u001b[39m`);
}

/** Whether a stream shows colour: a terminal that can, and a person who did not refuse it (no-color.org). */
export function showsColour(stream: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean {
  return stream.isTTY === true && env.TERM !== 'dumb' && !env.NO_COLOR;
}
