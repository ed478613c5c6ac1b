// daemon: replays for the page: one at a time, each with an end that a person reads.
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sqliteDatabase } from '../../../src/domain/database.ts';
import type { ReplayKeeper } from '../../../src/domain/replay.ts';
import type { BesideOptions, EndedProcess } from '../../../src/runtime/daemon/own-process.ts';
import { ReplayInMemory, Replays } from '../../../src/runtime/daemon/own-process.ts';

const ASKED = { way: 'what_if', since: '30d', rule: 'ban' } as const;

/** A process that ends when the test says so, or when it is killed. */
function open(ending = new AbortController().signal, keeper: ReplayKeeper = new ReplayInMemory()) {
  const started: { args: string[]; said?: (err: string) => void; end: (ended: Partial<EndedProcess>) => void }[] = [];
  const run = (args: string[], signal: AbortSignal, { said }: BesideOptions = {}) =>
    new Promise<EndedProcess>((resolve) => {
      const end = (ended: Partial<EndedProcess>) => resolve({ code: 0, out: '', err: '', ...ended });
      signal.addEventListener('abort', () => end({ code: null }));
      started.push({ args, end, ...(said && { said }) });
    });
  const replays = new Replays({
    database: sqliteDatabase('d.db'),
    rulesDir: 'rules',
    run,
    keeper,
    log: { warn: () => {} },
    clock: { nowMs: () => 5_000_000_000 },
    ending,
  });
  return { replays, started };
}

describe('replays beside a daemon', () => {
  it('go one at a time, and the next one begins when the last has ended', async () => {
    const { replays, started } = open();
    await replays.begin(ASKED, 'ana');
    await expect(replays.begin(ASKED, 'eva')).rejects.toThrow(/a replay is under way/);
    started[0]?.end({ out: '{"runs":3}' });
    await setImmediate();
    expect(await replays.current()).toMatchObject({ by: 'ana', found: { runs: 3 }, finishedAt: 5_000_000_000 });
    await replays.begin(ASKED, 'eva');
    expect(await replays.current()).toMatchObject({ by: 'eva', found: undefined, finishedAt: undefined });
  });

  it('take what a person gave as values, never as options', async () => {
    const { replays, started } = open();
    await replays.begin({ way: 'as_was', since: '2d', rule: '--out=/etc/passwd' }, 'ana');
    expect(started[0]?.args).toEqual([
      'replay',
      '--db',
      'd.db',
      '--format',
      'json',
      '--since=2d',
      '--rule=--out=/etc/passwd',
    ]);
  });

  it('refuse a time that is none before anything begins', async () => {
    const { replays, started } = open();
    await expect(replays.begin({ ...ASKED, since: 'yesterday' }, 'ana')).rejects.toThrow(/expected a duration/);
    for (const since of ['0s', '2999-01-01'])
      await expect(replays.begin({ ...ASKED, since }, 'ana')).rejects.toThrow(/expected a time in the past/);
    expect([started.length, await replays.current()]).toEqual([0, undefined]);
  });

  it('keep the last words of a process that failed, and a result of exit code 1', async () => {
    const { replays, started } = open();
    await replays.begin(ASKED, 'ana');
    started[0]?.end({ code: 1, err: 'trustward: there is no history beside `d.db`\n' });
    await setImmediate();
    expect((await replays.current())?.fault).toBe('there is no history beside `d.db`');
    await replays.begin(ASKED, 'ana');
    started[1]?.end({ code: 1, out: '{"runs":1}' });
    await setImmediate();
    expect(await replays.current()).toMatchObject({ found: { runs: 1 }, fault: undefined });
  });

  it('show what stands in the way as soon as it is said', async () => {
    const { replays, started } = open();
    await replays.begin(ASKED, 'ana');
    started[0]?.said?.('note: users were not read\nnote: events w');
    await setImmediate();
    expect(await replays.current()).toMatchObject({ notes: ['users were not read'], finishedAt: undefined });
    started[0]?.end({ out: '{"runs":3}' });
    await setImmediate();
    expect(await replays.current()).toMatchObject({ notes: ['users were not read'], found: { runs: 3 } });
  });

  it('end with the daemon', async () => {
    const ending = new AbortController();
    const { replays } = open(ending.signal);
    await replays.begin(ASKED, 'ana');
    ending.abort();
    await setImmediate();
    expect((await replays.current())?.fault).toBe('its process ended with a signal');
  });
});
