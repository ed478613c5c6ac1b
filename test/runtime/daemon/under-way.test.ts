// test: what people see of the run under way, while it is under way and not after.
import { describe, expect, it } from 'vitest';
import type { ProgressStep } from '../../../src/domain/replay.ts';
import { runCycle } from '../../../src/engine/cycle.ts';
import { UnderWay } from '../../../src/runtime/daemon/under-way.ts';
import { startOnPlatform } from '../../support/engine-on-platform.ts';

describe('the run under way', () => {
  it('is shown from its begin to its end, with its last step, and steps are passed on', async () => {
    const on = startOnPlatform();
    on.platform.addDevice('one');
    const underWay = new UnderWay();
    const seen: (string | undefined)[] = [];
    const passedOn: ProgressStep[] = [];
    on.engine.progress = underWay.following((step) => {
      passedOn.push(step);
      seen.push(underWay.now()?.phase);
    });
    const request = { mode: 'dry-run', trigger: 'schedule', rules: undefined, waitForDoubts: false } as const;
    expect(underWay.now()).toBeUndefined();
    const run = await runCycle(on.engine, request, (begun) => {
      underWay.begin(begun);
      expect(underWay.now()).toEqual({
        run: begun.id,
        seq: 1,
        mode: 'dry-run',
        trigger: 'schedule',
        startedAt: begun.startedAt,
      });
    });
    expect(underWay.now()).toMatchObject({ run: run.id, seq: 1 });
    underWay.end();
    expect(underWay.now()).toBeUndefined();
    expect(seen).toEqual(passedOn.map(({ phase }) => phase));
    expect(seen).toContain('reading');
    await on.close();
  });
});
