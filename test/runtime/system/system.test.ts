// system: the clock, identifiers and the log, as everything else uses them.
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/domain/ports.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { systemIds, systemRandom } from '../../../src/runtime/system/ids.ts';
import { built } from '../../support/built.ts';

describe('the clock', () => {
  it('rejects an aborted sleep with `stopped`, before and during it', async () => {
    const ending = new AbortController();
    const asleep = systemClock.sleep(3_600_000, ending.signal);
    ending.abort();
    await expect(asleep).rejects.toMatchObject({ code: 'stopped' });
    await expect(systemClock.sleep(3_600_000, ending.signal)).rejects.toMatchObject({ code: 'stopped' });
  });
  it('leaves no listener behind after sleeps on one signal', async () => {
    const ending = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = AbortSignal.prototype;
    ending.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(ending.signal, args);
    };
    ending.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(ending.signal, args);
    };
    await Promise.all(Array.from({ length: 5 }, () => systemClock.sleep(0, ending.signal)));
    expect(listeners).toBe(0);
  });
});

describe('a command', () => {
  /** A process that waits for an answer of a thread which does not keep it alive. */
  const waiting = (answer: string, answerMsMax: number) => {
    const text = `
      const { Worker } = await import('node:worker_threads');
      const { untilSettled } = await import(${JSON.stringify(built('src/runtime/system/until-settled.ts'))});
      const worker = new Worker(${JSON.stringify(answer)}, { eval: true });
      worker.unref();
      const answered = new Promise((resolve) => worker.once('message', resolve));
      try {
        process.stdout.write(await untilSettled(answered, () => ['the history'], ${answerMsMax}));
      } catch (error) {
        process.stdout.write(error.message);
        process.exitCode = 1;
      }`;
    const args = ['--input-type=module', '--eval', text];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    return { status, stdout, stderr };
  };
  it('has its answer also when nothing else keeps the process alive', () => {
    const answer =
      "import { parentPort } from 'node:worker_threads'; setTimeout(() => parentPort.postMessage('answered'), 100)";
    expect(waiting(answer, 60_000)).toEqual({ status: 0, stdout: 'answered', stderr: '' });
  });
  it('whose answer cannot come any more fails, and names what has not ended', () => {
    const { status, stdout, stderr } = waiting('', 50);
    expect({ status, stderr }).toEqual({ status: 1, stderr: '' });
    expect(stdout).toContain('not ended: the history');
  });
});

describe('identifiers', () => {
  function jumping(times: number[]): Clock {
    let index = 0;
    return {
      nowMs: () => times[Math.min(index++, times.length - 1)] as number,
      monotonicMs: () => 0,
      sleep: async () => {},
    };
  }
  it('ascend, also within one millisecond and when the clock goes back', () => {
    const ids = systemIds(jumping([5, 5, 5, 3, 1, 6, 2]));
    const made = Array.from({ length: 200 }, () => ids.next());
    expect([...made].sort()).toEqual(made);
    expect(new Set(made).size).toBe(200);
    expect(made.every((id) => /^[0-9a-z]{26}$/.test(id))).toBe(true);
  });
  it('of two processes in the same millisecond differ', () => {
    const [one, other] = [systemIds(jumping([5])), systemIds(jumping([5]))];
    expect(one.next()).not.toBe(other.next());
  });
  it('come with randomness in [0, 1)', () => {
    for (let count = 0; count < 1_000; count += 1) {
      const value = systemRandom.next();
      expect(value >= 0 && value < 1).toBe(true);
    }
  });
});

describe('the log', () => {
  /** In a process of its own: the log writes to the descriptor of standard error itself. */
  function logged(form: 'json' | 'plain', level: string): string {
    const script = `
      import { systemLog } from ${JSON.stringify(built('src/runtime/system/log.ts'))};
      const log = systemLog({ level: ${JSON.stringify(level)}, form: ${JSON.stringify(form)} });
      log.debug({}, 'quiet');
      log.warn({ apiKey: 'canary-1', deep: [{ Authorization: 'canary-2' }], n: 1763700000123456789n }, 'a\\u001b[31mred\\nline');`;
    const args = ['--input-type=module', '--eval', script];
    const child = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(child.stdout).toBe('');
    return child.stderr;
  }

  it('has one JSON object per line, without secrets, with exact digits', () => {
    const [line, ...more] = logged('json', 'info').trim().split('\n');
    expect(more).toEqual([]);
    expect(line).not.toContain('canary');
    expect(JSON.parse(line as string)).toMatchObject({ level: 40, apiKey: '[dropped]', n: '1763700000123456789' });
  });
  it('in plain form lets no control character of a device reach the terminal', () => {
    const text = logged('plain', 'warn');
    expect(text.trim().split('\n')).toHaveLength(1);
    expect(text).toMatch(/^\d\d:\d\d:\d\d warn {2}a\ufffd\[31mred\ufffdline\n$/);
  });
});
