// history files: what held before a place: the newest base before it that can be read, and the runs between. In: a place, and a time. Out: what held
// before the first run from that time on, and its place; or what is lost before it.
import { giveWay } from '../../domain/give-way.ts';
import { UnreadableSegment } from './segment-columns.ts';
import { applyRuns, firstRunOf } from './segment-rows.ts';
import { Standing, type StandingBase, type StandingOptions, TooManyChanges } from './standing.ts';
import { type Lost, undecoded, type Walk, type WalkedSegment } from './walk.ts';

export interface Begun {
  standing: Standing;
  place: number;
}

export class Begin {
  readonly #walk: Walk;
  readonly #fromMs: number;

  readonly #options: StandingOptions;

  /** `isWanted`: rows of no use to whoever asks are left out, as far as it costs nothing. */
  constructor(walk: Walk, fromMs: number, options: StandingOptions = {}) {
    this.#walk = walk;
    this.#fromMs = fromMs;
    this.#options = options;
  }

  /** `place`: that of a segment which has runs from the time on. Errors: TooManyChanges. */
  async at(place: number): Promise<Begun | { lost: Lost }> {
    let fault: string | undefined;
    for (const base of this.#walk.bases.filter(({ last }) => last < place).reverse()) {
      const columns = this.#walk.open(base);
      if (!(columns instanceof UnreadableSegment))
        return this.#from({ columns, rows: columns.rows }, base.last + 1, place);
      fault ??= `the base of ${base.day}: ${columns.message}`;
    }
    const first = this.#walk.segments[0];
    if (first?.first === 1) return this.#from(undefined, 1, place);
    const { fromMs, toMs } = this.#walk.segments.find(({ last }) => last >= place) ?? {
      fromMs: this.#fromMs,
      toMs: this.#fromMs,
    };
    const text = fault ?? 'what held before it is not kept';
    return { lost: { kind: 'lost', fromMs, toMs, cause: 'damaged', text, next: place + 1 } };
  }

  async #from(base: StandingBase | undefined, first: number, place: number): Promise<Begun | { lost: Lost }> {
    let standing = new Standing(base, this.#options);
    for (let at = first; ; ) {
      const walked = this.#walk.at(at);
      if (!walked) return { standing, place: at };
      if (walked.kind === 'lost') return { lost: walked };
      const isLast = walked.next > place;
      const isEnd = (atMs: number) => isLast && atMs >= this.#fromMs;
      const began = at === 1 && !base ? this.#firstRun(walked, isEnd) : undefined;
      if (began && 'lost' in began) return began;
      if (began?.standing) standing = began.standing;
      const applied = this.#applied(walked, standing, began?.standing ? 1 : walked.skip, isEnd);
      if (typeof applied !== 'number') return { lost: applied };
      if (isLast) return { standing, place: walked.segment.first + applied };
      at = walked.next;
      await giveWay();
    }
  }

  /** The first run of a history shows everything, each fact once: it is the base of what comes after it. */
  #firstRun(walked: WalkedSegment, isEnd: (atMs: number) => boolean): { standing?: Standing } | { lost: Lost } {
    try {
      const { atMs, rows } = firstRunOf(walked.columns);
      return isEnd(atMs) ? {} : { standing: new Standing({ columns: walked.columns, rows }, this.#options) };
    } catch (error) {
      if (!(error instanceof UnreadableSegment)) throw error;
      return { lost: undecoded(walked, error) };
    }
  }

  /** Its checksum and its form held: what cannot be decoded now was written wrong. */
  #applied(walked: WalkedSegment, standing: Standing, skip: number, isEnd: (atMs: number) => boolean): number | Lost {
    try {
      return applyRuns(walked.columns, standing, skip, isEnd);
    } catch (error) {
      if (!(error instanceof UnreadableSegment)) throw error;
      return undecoded(walked, error);
    }
  }
}

/** So many facts that changed take about 100 MB. */
const CHANGES_MAX = 400_000;

/**
 * What holds before a place, in parts: each of some of the subjects, so that no more changes than these are held at once. All files are read again for
 * each part. The first one shows what is lost.
 */
export async function* standingInParts(
  walk: Walk,
  place: number,
  changesMax = CHANGES_MAX,
): AsyncGenerator<Standing | { lost: Lost }> {
  const open = (no: number, of: number, max?: number) =>
    new Begin(walk, Number.NEGATIVE_INFINITY, { part: { no, of }, changesMax: max }).at(place);
  for (let of = 1; ; of *= 2) {
    try {
      // The others are about as large as the first one.
      const first = await open(0, of, changesMax);
      yield 'lost' in first ? first : first.standing;
      if ('lost' in first) return;
    } catch (error) {
      if (!(error instanceof TooManyChanges)) throw error;
      continue;
    }
    for (let no = 1; no < of; no++) {
      const begun = await open(no, of);
      if ('lost' in begun) throw new UnreadableSegment('damaged', begun.lost.text);
      yield begun.standing;
    }
    return;
  }
}
