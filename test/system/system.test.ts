// system: the clock, identifiers and the log, as everything else relies on them.
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../src/domain/ports.ts';
import { systemClock } from '../../src/system/clock.ts';
import { systemIds, systemRandom } from '../../src/system/ids.ts';
import { built } from '../support/built.ts';

describe('the clock', () => {
  it('a sleep that is called off rejects with `stopped`, before and while it sleeps', async () => {
    const ending = new AbortController();
    const asleep = systemClock.sleep(3_600_000, ending.signal);
    ending.abort();
    await expect(asleep).rejects.toMatchObject({ code: 'stopped' });
    await expect(systemClock.sleep(3_600_000, ending.signal)).rejects.toMatchObject({ code: 'stopped' });
  });
  it('sleeps on one signal leave no listener behind', async () => {
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
  it('randomness lies in [0, 1)', () => {
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
      import { systemLog } from ${JSON.stringify(built('src/system/log.ts'))};
      const log = systemLog({ level: ${JSON.stringify(level)}, form: ${JSON.stringify(form)} });
      log.debug({}, 'quiet');
      log.warn({ apiKey: 'canary-1', deep: [{ Authorization: 'canary-2' }], n: 1763700000123456789n }, 'a\\u001b[31mred\\nline');`;
    const args = ['--input-type=module', '--eval', script];
    const child = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(child.stdout).toBe('');
    return child.stderr;
  }

  it('one JSON object a line, without secrets, digits exact', () => {
    const [line, ...more] = logged('json', 'info').trim().split('\n');
    expect(more).toEqual([]);
    expect(line).not.toContain('canary');
    expect(JSON.parse(line as string)).toMatchObject({ level: 40, apiKey: '[dropped]', n: '1763700000123456789' });
  });
  it('plain for a person: no control character of a device reaches the terminal', () => {
    const text = logged('plain', 'warn');
    expect(text.trim().split('\n')).toHaveLength(1);
    expect(text).toMatch(/^\d\d:\d\d:\d\d warn {2}a\ufffd\[31mred\ufffdline\n$/);
  });
});
