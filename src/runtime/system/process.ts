// system: the end of the process, with one deadline for all of it. In: the request to end, and the work that is waited
// for. Out: two signals on the way, and at the deadline the names of the work that has not ended.

import { readFileSync, writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import type { Clock } from '../../domain/ports.ts';
import type { Progress, ProgressStep } from '../../domain/replay.ts';
import { systemClock } from './clock.ts';

/** What is under way may take this share of the time; then it is cut off, and the rest is left for closing. */
const CUT_AFTER = 0.75;
const END_WITHIN_MS = 20_000;

export class Ending {
  private readonly begun = new AbortController();
  private readonly cutting = new AbortController();
  private readonly open = new Set<string>();
  /** Aborted when the process is to end: nothing new begins. */
  readonly asked: AbortSignal = this.begun.signal;
  /** Aborted when time runs short: calls, readings, deliveries and connections under way break off. */
  readonly cut: AbortSignal = this.cutting.signal;
  /** Resolves at the deadline with the names of what has not ended; a process that ends in time never sees it. */
  readonly overdue: Promise<string[]>;
  private pass: (names: string[]) => void = () => {};

  constructor(readonly withinMs = END_WITHIN_MS) {
    this.overdue = new Promise((resolve) => {
      this.pass = resolve;
    });
  }

  /** Again: does nothing. INVARIANT: no timer of it keeps a process alive that has nothing else to do. */
  begin(): void {
    if (this.asked.aborted) return;
    setTimeout(() => this.cutting.abort(), this.withinMs * CUT_AFTER).unref();
    setTimeout(() => this.pass(this.notEnded()), this.withinMs).unref();
    this.begun.abort();
  }

  /** Names of the work under way. */
  notEnded(): string[] {
    return [...this.open];
  }

  untilAsked(): Promise<void> {
    return new Promise((resolve) => {
      if (this.asked.aborted) resolve();
      else this.asked.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** The same work, under a name that the deadline can report. */
  async until<T>(name: string, work: Promise<T>): Promise<T> {
    this.open.add(name);
    try {
      return await work;
    } finally {
      this.open.delete(name);
    }
  }
}

// How far a run is, in one rewritten line at a terminal.

const REDRAW_MS = 100;

interface Stream {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

export class StatusLine {
  private drawnAt = Number.NEGATIVE_INFINITY;
  private isShown = false;

  constructor(
    private readonly stream: Stream,
    private readonly clock: Pick<Clock, 'monotonicMs'>,
  ) {}

  /** Undefined where a line cannot be rewritten. */
  progress(env: Record<string, string | undefined>): Progress | undefined {
    return this.stream.isTTY && env.TERM !== 'dumb' ? (step) => this.show(step) : undefined;
  }

  clear(): void {
    if (this.isShown) this.stream.write('\r\u001b[K');
    this.isShown = false;
  }

  private show(step: ProgressStep): void {
    const nowMs = this.clock.monotonicMs();
    const isNew = step.done === undefined || step.done === 0;
    if (this.isShown && !isNew && nowMs - this.drawnAt < REDRAW_MS) return;
    this.drawnAt = nowMs;
    this.isShown = true;
    // Never the last column: some terminals would begin a new line.
    this.stream.write(`\r\u001b[K${statusText(step).slice(0, (this.stream.columns ?? 80) - 1)}`);
  }
}

/** `reading devices: 1,200 of 100,000`. INVARIANT: ASCII alone, which controls no terminal and has one column a character. */
export function statusText({ phase, what, done, total }: ProgressStep): string {
  const subject = what === undefined ? phase : `${phase} ${what.replace(/[^ -~]/g, '?')}`;
  if (done === undefined) return `${subject} ...`;
  const count = done.toLocaleString('en');
  return `${subject}: ${total === undefined || total < done ? count : `${count} of ${total.toLocaleString('en')}`}`;
}

/** The one of this process. */
export const statusLine = new StatusLine(process.stderr, systemClock);

export function versionOf(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A second signal of the same kind ends the process at once. */
export function endOnSignals(withinMs?: number): Ending {
  const ending = new Ending(withinMs);
  for (const signal of SIGNALS) process.once(signal, () => ending.begin());
  void ending.overdue.then((names) => endByForce(ending.withinMs, names));
  return ending;
}

/**
 * INVARIANT: a kill, not an exit: an exit waits for threads that read files, and one that hangs in a read never ends.
 */
function endByForce(withinMs: number, names: readonly string[]): void {
  const what = names.length === 0 ? 'a thread of the process, as when a disk does not answer' : names.join(', ');
  const rest = 'what was sent stays recorded, and the next start resolves it';
  try {
    writeSync(2, `trustward: ended by force ${withinMs / 1_000} s after the signal; not ended: ${what}; ${rest}\n`);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}

// Colour for a person at a terminal: the words of severity and outcome, whole words alone, wherever they stand.

const CODES = { red: 31, green: 32, yellow: 33 } as const;

const WORDS: Readonly<Record<string, keyof typeof CODES>> = {
  ...wordsOf(
    'red',
    'not trusted|NOT TRUSTED|failed|error|problem|problems|aborted|parked|untrusted|NOT released|critical',
  ),
  ...wordsOf(
    'yellow',
    'warn|warning|warnings|unknown|waits|pending|interrupted|expired|in doubt|INTERRUPTED PLAN|WAITS FOR A YES|high',
  ),
  ...wordsOf('green', 'succeeded|confirmed|ok|trusted|completed|applied|released|All is well|the audit is whole'),
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

/**
 * Garbage is collected when the heap has grown by a fifth, where V8 lets it grow to several times what is held. For a daemon, which
 * holds what it read (90 MB less, a first run is 7 % longer), and commands that read a month of changes (up to a quarter more processor time, 60 to 90 MB less).
 */
export function keepHeapLean(): void {
  setFlagsFromString('--heap-growing-percent=20');
}
