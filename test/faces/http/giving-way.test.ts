// http: a large answer leaves others their turn: the event loop is given way to between pieces of bounded work. Turns
// are counted, not timed.
import { describe, expect, it } from 'vitest';
import { jsonPieces } from '../../../src/base/json.ts';
import { inTurns, TURN_MAX } from '../../../src/base/turns.ts';
import { openEndpoint } from '../../support/endpoint.ts';
import { addRun, decision, tally } from '../../support/filled-store.ts';

const COUNT = 10_000;
const RULES = 60;

/** Turns of the event loop while `work` is under way. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOn = true;
  const turn = () => {
    turns += 1;
    if (isOn) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isOn = false;
  return turns;
}

describe('a report of 10,000 decisions', () => {
  it.each(['json', 'text', 'md'])('gives way again and again while it is made: %s', async (format) => {
    const { store, ask } = openEndpoint();
    const rules = Array.from({ length: RULES }, (_, index) => `rule-${index}`);
    const decisions = Array.from({ length: COUNT }, (_, index) =>
      decision({ id: `d${index}`, target: `S-${index}`, rule: `rule-${index % RULES}` }),
    );
    await addRun(store, { decisions, tallies: rules.map((rule) => tally({ rule })) });
    let length = 0;
    const turns = await turnsDuring(async () => {
      const answer = await ask('GET', `/api/runs/run1/report?format=${format}`);
      expect(answer.status).toBe(200);
      length = (await answer.text()).length;
    });
    // Reading: 200 rows at a time. Writing: what one turn may write.
    expect(turns).toBeGreaterThanOrEqual(COUNT / 200 + Math.floor(length / TURN_MAX) - 2);
  });
});

describe('JSON in pieces', () => {
  it.each([0, 2])('is the text that one call writes, with an indentation of %s', (indent) => {
    const row = { name: 'a\n"b"', none: undefined, list: [1, undefined, null, [], {}], big: 2n ** 60n };
    const value = { rows: Array.from({ length: 5_000 }, () => row), long: 'x'.repeat(100_000), empty: [] };
    const whole = JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}` : one), indent);
    const pieces = [...jsonPieces(value, indent)];
    expect(pieces.join('')).toBe(whole);
    expect(pieces.length).toBeGreaterThan(1_000);
  });

  it('rests after each bounded number of characters, and of empty pieces', async () => {
    const chunks: number[] = [];
    let rests = 0;
    const pieces = [
      ...Array.from({ length: 1_000 }, () => 'x'.repeat(1_000)),
      ...Array.from({ length: 1_000 }, () => ''),
    ];
    const rest = async () => {
      rests += 1;
    };
    for await (const chunk of inTurns(pieces, rest)) chunks.push(chunk.length);
    expect(Math.max(...chunks)).toBeLessThan(TURN_MAX + 1_000);
    expect(rests).toBeGreaterThanOrEqual(Math.floor((1_000 * 1_256 + 1_000 * 256) / (TURN_MAX + 1_256)));
  });
});
