// history: what the rules of a replay know of the past, as their process knew it. In: the reader, then each run of the replay. Out: nothing but
// what an evaluator knows. INVARIANT: a run is taken over after it was judged, as a live one.
import type { LookBack } from '../../domain/look-back.ts';
import type { FactChange, HistoryReader, RecordedRun, RunFrame } from '../../domain/recorded-history.ts';
import { fillBefore } from '../../run/recorded-look-back.ts';
import type { SeenByRuns } from '../../run/seen-by-runs.ts';

export class KeptPast {
  /** `beginsMs`: runs before it, as far as rules look back, are not in the record; undefined: there is nothing else. */
  private constructor(
    private readonly lookBack: LookBack,
    private readonly seen: SeenByRuns,
    readonly beginsMs: number | undefined,
  ) {}

  /** `first`: the run before which the rules came into force. Undefined: no rule looks back. */
  static async before(
    reader: HistoryReader,
    lookBack: LookBack | undefined,
    first: RunFrame['run'],
  ): Promise<KeptPast | undefined> {
    if (!lookBack) return undefined;
    const { seen, beginsMs } = await fillBefore(reader, lookBack, first);
    return new KeptPast(lookBack, seen, beginsMs);
  }

  /** After a gap in which changes were lost: these facts hold, and nothing of before. */
  async *begin(facts: AsyncIterable<readonly FactChange[]>): AsyncIterable<readonly FactChange[]> {
    this.seen.begin();
    this.lookBack.observe({ kind: 'anew' });
    for await (const batch of facts) {
      this.lookBack.observe({ kind: 'state', facts: this.seen.wanted(batch) });
      yield batch;
    }
  }

  /** What a replay changed itself: the next run that reads these subjects sees it. */
  willSee(changes: Iterable<FactChange>): void {
    this.seen.willSee(changes);
  }

  /** `sources`: as these rules trust them. */
  take(run: Pick<RecordedRun, 'frame' | 'changes'>, sources = run.frame.sources): void {
    this.lookBack.observe({ kind: 'run', run: this.seen.take(run, sources) });
  }
}
