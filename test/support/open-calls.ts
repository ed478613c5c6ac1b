// support: keeps every writing call of the platform in memory open until the test answers it. In: a platform. Out: which calls are open,
// and how many were at once. Waits are turns of the event loop, not time.
import { giveWay } from '../../src/base/turns.ts';
import type { WriteAnswer } from '../../src/domain/ports.ts';
import type { Platform } from './platform.ts';

interface OpenCall {
  target: string;
  answer(given: WriteAnswer | undefined): void;
}

const TURNS_MAX = 2_000;

export class OpenCalls {
  private readonly calls: OpenCall[] = [];
  private readonly together: string[][] = [];

  constructor(private readonly platform: Platform) {
    const update = platform.updateDevices.bind(platform);
    platform.updateDevices = (serial, devices) => this.keepOpen(serial, () => update(serial, devices));
  }

  /** Of the calls that are open, in the order of their sending. */
  get targets(): string[] {
    return this.calls.map(({ target }) => target);
  }

  get mostAtOnce(): number {
    return this.mostOf(() => true);
  }

  mostOf(chosen: (target: string) => boolean): number {
    return Math.max(0, ...this.together.map((targets) => targets.filter(chosen).length));
  }

  /** Until so many are open. */
  async open(count: number): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX && this.calls.length < count; turn += 1) await giveWay();
    if (this.calls.length < count) throw new Error(`${this.calls.length} calls are open, and never ${count}`);
  }

  /** Without an answer given: what the platform answers. */
  answer(target: string, given?: WriteAnswer): void {
    const index = this.calls.findIndex((call) => call.target === target);
    this.calls.splice(index, 1)[0]?.answer(given);
  }

  async answerAllUntil(end: Promise<unknown>, given?: WriteAnswer): Promise<void> {
    let isOver = false;
    const over = end.finally(() => {
      isOver = true;
    });
    over.catch(() => {});
    while (!isOver) {
      const first = this.calls[0];
      if (first) this.answer(first.target, given);
      await giveWay();
    }
    await over;
  }

  private async keepOpen(target: string, effect: () => Promise<WriteAnswer>): Promise<WriteAnswer> {
    const given = await new Promise<WriteAnswer | undefined>((answer) => {
      this.calls.push({ target, answer });
      this.together.push(this.targets);
    });
    if (!given) return effect();
    this.platform.sent.push(`ban ${target}`);
    return given;
  }
}
