// history files: what held before a place: the newest base before it that can be read, and the runs between. In: a place, and a time. Out: what held
// before the first run from that time on, and its place; or what is lost before it.
import { giveWay } from '../../domain/give-way.ts';
import { UnreadableSegment } from './segment-columns.ts';
import { applyRuns } from './segment-rows.ts';
import { Standing } from './standing.ts';
import { type Lost, undecoded, type Walk, type WalkedSegment } from './walk.ts';

export interface Begun {
  standing: Standing;
  place: number;
}

export class Begin {
  readonly #walk: Walk;
  readonly #fromMs: number;

  readonly #isWanted: ((kind: string, path: string) => boolean) | undefined;

  /** `isWanted`: rows of no use to whoever asks are left out, as far as it costs nothing. */
  constructor(walk: Walk, fromMs: number, isWanted?: (kind: string, path: string) => boolean) {
    this.#walk = walk;
    this.#fromMs = fromMs;
    this.#isWanted = isWanted;
  }

  /** `place`: that of a segment which has runs from the time on. */
  async at(place: number): Promise<Begun | { lost: Lost }> {
    let fault: string | undefined;
    for (const base of this.#walk.bases.filter(({ last }) => last < place).reverse()) {
      const columns = this.#walk.open(base);
      if (!(columns instanceof UnreadableSegment))
        return this.#from(new Standing(columns, this.#isWanted), base.last + 1, place);
      fault ??= `the base of ${base.day}: ${columns.message}`;
    }
    const first = this.#walk.segments[0];
    if (first?.first === 1) return this.#from(new Standing(undefined, this.#isWanted), 1, place);
    const { fromMs, toMs } = this.#walk.segments.find(({ last }) => last >= place) ?? {
      fromMs: this.#fromMs,
      toMs: this.#fromMs,
    };
    const text = fault ?? 'what held before it is not kept';
    return { lost: { kind: 'lost', fromMs, toMs, cause: 'damaged', text, next: place + 1 } };
  }

  async #from(standing: Standing, first: number, place: number): Promise<Begun | { lost: Lost }> {
    for (let at = first; ; ) {
      const walked = this.#walk.at(at);
      if (!walked) return { standing, place: at };
      if (walked.kind === 'lost') return { lost: walked };
      const isLast = walked.next > place;
      const applied = this.#applied(walked, standing, (atMs) => isLast && atMs >= this.#fromMs);
      if (typeof applied !== 'number') return { lost: applied };
      if (isLast) return { standing, place: walked.segment.first + applied };
      at = walked.next;
      await giveWay();
    }
  }

  /** Its checksum and its form held: what cannot be decoded now was written wrong. */
  #applied(walked: WalkedSegment, standing: Standing, isEnd: (atMs: number) => boolean): number | Lost {
    try {
      return applyRuns(walked.columns, standing, walked.skip, isEnd);
    } catch (error) {
      if (!(error instanceof UnreadableSegment)) throw error;
      return undecoded(walked, error);
    }
  }
}
