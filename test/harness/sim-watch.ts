// harness: the looks of one life: the daemon's own loop, one look at a time, with the whole runs that it asks for. In: a living engine. Out: a
// look, announced to the checker as its caller knows it. It may end at any await.

import type { WatchRequest } from '../../src/domain/run.ts';
import { watchCycle } from '../../src/engine/cycle.ts';
import type { Engine } from '../../src/engine/run/engine.ts';
import { Watch } from '../../src/runtime/daemon/readiness.ts';
import { type Asking, begin } from './asking.ts';

export interface SimWatchParts {
  engine: Engine;
  /** From one scheduled time to the next. */
  everyMs: number;
  asking(): Asking;
  runWhole(): Promise<unknown>;
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export class SimWatch {
  private readonly watch: Watch;
  private over = new AbortController();
  private looks = 0;
  private readonly faults: unknown[] = [];

  constructor(private readonly parts: SimWatchParts) {
    const { engine, everyMs, asking, runWhole } = parts;
    const nowMs = () => asking().clock.nowMs();
    this.watch = new Watch({
      everyMs,
      clock: { nowMs, monotonicMs: nowMs, sleep: async () => this.wait() },
      log: silent,
      queue: { inTurn: (_lane, _by, work) => work() },
      look: (request) => this.heard(() => this.look(engine, request)),
      runWhole: () => this.heard(runWhole),
      missedSince: (atMs) => this.missedSince(atMs),
    });
  }

  scheduledRunBegins(): void {
    this.watch.scheduledRunBegins();
  }

  /** Errors: those of the look, and of the whole run that it asks for. */
  async once(): Promise<void> {
    this.over = new AbortController();
    this.looks = 0;
    await this.watch.untilEnding(this.over.signal);
    const [fault] = this.faults.splice(0);
    if (fault !== undefined) throw fault;
  }

  private missedSince(atMs: number): number {
    const { asking, everyMs } = this.parts;
    return Math.max(0, Math.floor(asking().clock.nowMs() / everyMs) - Math.floor(atMs / everyMs));
  }

  private wait(): void {
    this.looks += 1;
    if (this.looks > 1) this.over.abort();
  }

  private async look(engine: Engine, request: Omit<WatchRequest, 'mode'>) {
    const asking = this.parts.asking();
    begin(asking, engine, 'look', 'enforce');
    asking.checker.lookRules.begin(request.missedSince);
    const missedSince = asking.bug === 'look_rests_on_a_run_long_past' ? () => 0 : request.missedSince;
    const looked = await watchCycle(engine, { mode: 'enforce', ...request, missedSince });
    asking.checker.lookRules.end(looked);
    return looked;
  }

  private async heard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.faults.push(error);
      throw error;
    }
  }
}
