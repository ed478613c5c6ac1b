// system: the end of the process, with one deadline for all of it. In: the request to end, and the work that is waited
// for. Out: two signals on the way, and at the deadline the names of the work that has not ended.

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
