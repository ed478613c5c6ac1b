// fidelity: records a month as the product does, into memory; some runs are lost, as when a process dies before its recorder has written. In: a seed.
// Out: a reader of what was recorded, and which runs were lost.
import type { EventRows, HistoryReader, HistoryRecorder, SeenRun } from '../../../src/domain/recorded-history.ts';
import { Dice } from '../../harness/dice.ts';
import { MemoryHistory } from '../../support/memory-history.ts';
import type { MonthRecording } from './month.ts';

export class MonthMemory implements MonthRecording {
  readonly lost = new Set<string>();
  readonly forgotten = new Set<string>();
  readonly damaged = 0;
  readonly tellsGaps = false;
  private readonly dice: Dice;
  private readonly lossShare: number;
  private history: MemoryHistory | undefined;

  constructor(seed: number) {
    this.dice = new Dice(seed, 'losses of the month');
    this.lossShare = this.dice.chance(0.4) ? 0 : 0.06 * this.dice.share();
  }

  begin(store: EventRows): HistoryRecorder {
    this.history ??= new MemoryHistory(store);
    return losing(this.history, (run) => this.isLost(run));
  }

  async end(): Promise<void> {
    await this.history?.settled();
  }

  reader(): HistoryReader {
    if (!this.history) throw new Error('nothing was recorded');
    return this.history;
  }

  remove(): void {}

  private isLost({ frame }: SeenRun): boolean {
    const isLost = this.dice.chance(this.lossShare);
    if (isLost) this.lost.add(frame.run.id);
    return isLost;
  }
}

function losing(history: MemoryHistory, isLost: (run: SeenRun) => boolean): HistoryRecorder {
  return {
    presentPrints: (kind, form) => history.presentPrints(kind, form),
    record: (run) => {
      if (!isLost(run)) history.record(run);
    },
    get unreadAfterNo() {
      return history.unreadAfterNo;
    },
    settled: () => history.settled(),
    fault: undefined,
    close: () => history.close(),
  };
}
