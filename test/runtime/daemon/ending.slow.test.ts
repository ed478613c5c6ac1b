// test: SIGTERM is obeyed in time, whatever hangs. The daemon is a process with a deadline of eight seconds: one that ends by itself has ended
// before. The program's own deadline is in ending.long.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { Ending } from '../../../src/runtime/system/process.ts';
import { type EndingDaemon, startEndingDaemon } from './ending.ts';

const WITHIN_MS = 8_000;

describe('a daemon that gets SIGTERM', () => {
  let daemon: EndingDaemon;
  beforeEach(async () => {
    daemon = await startEndingDaemon(WITHIN_MS);
  });
  afterEach(() => daemon.close());

  const runUntil = async (status: string) => {
    for (;;) {
      const { runs } = (await (await daemon.ask('/api/runs')).json()) as { runs: { status: string }[] };
      if (runs[0]?.status === status) return;
      await systemClock.sleep(20);
    }
  };

  it('ends by itself while a pull drips, the queue is full, a delivery hangs and clients hold connections', async () => {
    await runUntil('completed');
    const { faults } = daemon.org.console;
    faults?.set([{ kind: 'slow_body', match: { path: '/api/v1/devices' }, pieceBytes: 1, everyMs: 100 }]);
    const asked = Array.from({ length: 6 }, () => daemon.ask('/api/runs', { mode: 'enforce', wait: true }));
    const answers = Promise.allSettled(asked);
    await runUntil('running');
    await daemon.ask('/api/stop', { reason: 'a drill' });
    await daemon.deliveryHangs;
    await daemon.holdConnections();
    const { code, signal, err } = await daemon.end();
    expect({ code, signal, err }).toEqual({ code: 0, signal: null, err: '' });
    await answers;
    faults?.clear();
    await daemon.org.restart();
    const runs = await daemon.org.composition.engine.store.runs(10);
    expect(runs.map(({ status }) => status)).toEqual(['aborted', 'completed']);
  });

  it('ends by force when a read of the rules folder never ends, with a line that says so', async () => {
    await runUntil('completed');
    await daemon.hangRules();
    const { signal, err } = await daemon.end();
    expect(err).toBe(
      'trustward: ended by force 8 s after the signal; not ended: a thread of the process, as when a disk does not answer; what was sent stays recorded, and the next start resolves it\n',
    );
    expect(signal).toBe('SIGKILL');
  });

  it('leaves a call under way recorded, and in doubt', async () => {
    await runUntil('completed');
    const { org } = daemon;
    org.console.fleet.addDevice({ serial: 'ENDING-1', mdm_compromised: 'TRUE' });
    org.console.faults?.set([
      {
        kind: 'late_effect',
        match: { method: 'POST', path: '/api/v1/mdm/update_device' },
        ms: 600_000,
        answer: 'silence',
      },
    ]);
    const asked = daemon.ask('/api/runs', { mode: 'enforce', wait: true }).catch(() => {});
    const intentsSent = async () =>
      ((await (await daemon.ask('/api/intents?status=sent')).json()) as { intents: object[] }).intents;
    while ((await intentsSent()).length === 0) await systemClock.sleep(20);
    const { code, err } = await daemon.end();
    await asked;
    expect({ code, err }).toEqual({ code: 0, err: '' });
    org.console.faults?.clear();
    await org.restart();
    const intents = await org.composition.engine.store.intents({});
    expect(intents.filter(({ target }) => target === 'ENDING-1')).toMatchObject([{ outcome: 'unknown' }]);
  });
});

describe('the deadline', () => {
  it('is one for everything: signals come in order, and the work that has not ended is named', async () => {
    const ending = new Ending(40);
    const order: string[] = [];
    ending.asked.addEventListener('abort', () => order.push('asked'));
    ending.cut.addEventListener('abort', () => order.push('cut'));
    void ending.until('what hangs', new Promise(() => {}));
    await ending.until('what ends', Promise.resolve());
    await ending.until('what fails', Promise.reject(new Error('no'))).catch(() => {});
    ending.begin();
    ending.begin();
    await ending.untilAsked();
    const names = await ending.overdue;
    expect(names).toEqual(['what hangs']);
    expect(order).toEqual(['asked', 'cut']);
  });
});
