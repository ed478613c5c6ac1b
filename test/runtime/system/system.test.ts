// system: the clock, identifiers, the log, the terminal, folders that are made, and the order of closing.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeFolder, makeFolderSync } from '../../../src/base/files.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import type { ProgressStep } from '../../../src/domain/replay.ts';
import { Closing } from '../../../src/runtime/compose/opened.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { systemIds, systemRandom } from '../../../src/runtime/system/ids.ts';
import { coloured, StatusLine, showsColour, statusText } from '../../../src/runtime/system/process.ts';
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

function terminal(columns = 80) {
  const written: string[] = [];
  const time = { ms: 0 };
  const line = new StatusLine(
    { isTTY: true, columns, write: (text) => written.push(text) },
    { monotonicMs: () => time.ms },
  );
  return { written, time, line, show: line.progress({}) as (step: ProgressStep) => void };
}

const ERASE = '\r\u001b[K';

describe('the line of a run', () => {
  it.each<[ProgressStep, string]>([
    [{ phase: 'reading', what: 'devices', done: 1_200, total: 100_000 }, 'reading devices: 1,200 of 100,000'],
    [{ phase: 'reading', what: 'devices', done: 1_200, total: undefined }, 'reading devices: 1,200'],
    [{ phase: 'reading', what: 'users', done: 12, total: 10 }, 'reading users: 12'],
    [{ phase: 'acting', what: 'ban_device C02MQHAHEA', done: 3, total: 40 }, 'acting ban_device C02MQHAHEA: 3 of 40'],
    [{ phase: 'deciding' }, 'deciding ...'],
    [{ phase: 'acting', what: 'ban_device \u001b[2J\u202e日', done: 0, total: 1 }, 'acting ban_device ?[2J??: 0 of 1'],
  ])('shows %j as `%s`', (step, text) => {
    expect(statusText(step)).toBe(text);
  });

  it('is rewritten in place, at most ten times a second while it counts, and at once for a new phase', () => {
    const { written, time, show } = terminal();
    for (let done = 0; done <= 300; done += 1) {
      show({ phase: 'reading', what: 'devices', done, total: 300 });
      time.ms += 1;
    }
    show({ phase: 'deciding' });
    expect(written).toEqual([
      `${ERASE}reading devices: 0 of 300`,
      `${ERASE}reading devices: 100 of 300`,
      `${ERASE}reading devices: 200 of 300`,
      `${ERASE}reading devices: 300 of 300`,
      `${ERASE}deciding ...`,
    ]);
  });

  it('stays shorter than the terminal is wide, and is cleared once', () => {
    const { written, line, show } = terminal(12);
    show({ phase: 'reading', what: 'devices', done: 0, total: 5 });
    line.clear();
    line.clear();
    expect(written).toEqual([`${ERASE}reading dev`, ERASE]);
  });

  it.each([
    ['in a pipe', false, {}],
    ['at a terminal that cannot rewrite a line', true, { TERM: 'dumb' }],
  ])('is not shown %s', (_, isTTY, env) => {
    const stream = { isTTY, write: () => expect.unreachable() };
    expect(new StatusLine(stream, { monotonicMs: () => 0 }).progress(env)).toBeUndefined();
  });
});

describe('colour', () => {
  it.each([
    ['10:09:00 info  ban_device C02: succeeded', '10:09:00 info  ban_device C02: <32>succeeded<39>'],
    ['10:09:00 error run 7: failed', '10:09:00 <31>error<39> run 7: <31>failed<39>'],
    ['Trust: not trusted, trusted', 'Trust: <31>not trusted<39>, <32>trusted<39>'],
    ['│ critical │ high   │', '│ <31>critical<39> │ <33>high<39>   │'],
    ['0 failed, 10 failed', '0 failed, 10 <31>failed<39>'],
  ])('marks whole words of severity and outcome in `%s`', (text, shown) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(coloured(text).replace(/\u001b\[(\d+)m/g, '<$1>')).toBe(shown);
  });

  it.each(['unfailed', 'disable-failing-service', '`failed`', 'failed-once', 'a high number of devices', 'unknowns'])(
    'leaves `%s` as it is',
    (text) => expect(coloured(text)).toBe(text),
  );

  it.each([
    [true, {}, true],
    [true, { NO_COLOR: '' }, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
    [false, { TERM: 'xterm-256color' }, false],
  ])('with a terminal (%j) and %j is shown: %j', (isTTY, env, shown) => {
    expect(showsColour({ isTTY }, env)).toBe(shown);
  });
});

describe('compose', () => {
  it('what was opened is closed in reverse order, once, also after one that could not be closed', async () => {
    const closing = new Closing();
    const closed: string[] = [];
    for (const name of ['lock', 'database', 'server'])
      closing.add(async () => {
        closed.push(name);
        if (name === 'database') throw new Error('the disk is full');
      });
    await expect(closing.close()).rejects.toThrow('the disk is full');
    expect(closed).toEqual(['server', 'database', 'lock']);
    await closing.close();
    expect(closed).toHaveLength(3);
  });
});

describe('folders that are made where they are not there yet, and refused, in time, where nothing can be made', () => {
  const dir = mkdtempSync(join(tmpdir(), 'trustward-'));
  afterAll(() => rmSync(dir, { recursive: true }));

  describe.each([
    ['makeFolder', async (path: string) => makeFolder(path, 0o700)],
    ['makeFolderSync', async (path: string) => makeFolderSync(path)],
  ])('%s', (name, make) => {
    it('makes a folder and those above it, and leaves one that is there', async () => {
      const deep = join(dir, name, 'a', 'b');
      await make(deep);
      await make(deep);
      expect(statSync(deep).isDirectory()).toBe(true);
      const link = join(dir, `${name}-link`);
      symlinkSync(deep, link);
      await make(link);
    });

    it('refuses a name that is a file', async () => {
      const file = join(dir, `${name}-file`);
      writeFileSync(file, '');
      await expect(make(file)).rejects.toMatchObject({ code: 'EEXIST' });
    });

    it('refuses a place where nothing can be made, and returns', () => {
      const module = JSON.stringify(built('src/base/files.ts'));
      const script = `import(${module}).then(async (m) => m.${name}('/proc/none/here')).catch((e) => console.log(e.code))`;
      const out = execFileSync(process.execPath, ['-e', script], { timeout: 60_000, killSignal: 'SIGKILL' });
      expect(String(out)).toBe('ENOENT\n');
    });
  });
});
