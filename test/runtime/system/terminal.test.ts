// system: what a person sees at a terminal: one rewritten line while a run goes on, and words in colour. In: a made-up terminal.
import { describe, expect, it } from 'vitest';
import type { ProgressStep } from '../../../src/domain/replay.ts';
import { coloured, StatusLine, showsColour, statusText } from '../../../src/runtime/system/process.ts';

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
