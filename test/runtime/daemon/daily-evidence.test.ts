// test: when a daemon makes evidence of its rules: once a day, soon after a change, and never where no history is kept.
import { expect, test } from 'vitest';
import { EVIDENCE_THRESHOLDS, type RuleEvidence } from '../../../src/domain/evidence.ts';
import { contentOf } from '../../../src/history/evidence/evidence-files.ts';
import { DailyEvidence } from '../../../src/runtime/daemon/own-process.ts';
import { evidenceOf } from '../../history/evidence/figures.ts';
import { ruleOf } from '../../support/recorded.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A clock whose sleeps end at once, until `hours` are over. */
async function madeWithin(
  hours: number,
  {
    isKept = true,
    has = (_atMs: number) => true,
    fails = false,
  }: { isKept?: boolean; has?(atMs: number): boolean; fails?: boolean } = {},
) {
  let nowMs = 1_000 * HOUR_MS;
  const endMs = nowMs + hours * HOUR_MS;
  const startMs = nowMs;
  const ending = new AbortController();
  const rule = ruleOf();
  const made: number[] = [];
  const warned: string[] = [];
  let kept: RuleEvidence | undefined;
  const clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async (ms: number) => {
      nowMs += ms;
      if (nowMs >= endMs) ending.abort();
    },
  };
  const log = { warn: (_: object, text: string) => warned.push(text), info: () => {}, error: () => {} };
  const daily = new DailyEvidence({
    kept: {
      thresholds: EVIDENCE_THRESHOLDS,
      isKept: () => isKept,
      of: () => (has(nowMs - startMs) ? kept : undefined),
    },
    rules: () => [rule],
    make: async () => {
      made.push((nowMs - startMs) / MINUTE_MS);
      if (fails) throw new Error('a disk');
      kept = { ...evidenceOf({ hash: contentOf(rule).tests }), madeAtMs: nowMs };
    },
    clock: clock as never,
    log: log as never,
  });
  await daily.untilEnding(ending.signal);
  return { made, warned };
}

test('it is made ten minutes after the start, and once a day from then on', async () => {
  expect((await madeWithin(50)).made).toEqual([10, 10 + 24 * 60, 10 + 48 * 60]);
});

test('a rule without evidence gets some within an hour of the last attempt', async () => {
  const { made } = await madeWithin(4, { has: (atMs) => atMs < 90 * MINUTE_MS });
  expect(made).toEqual([10, 90, 150, 210]);
});

test('nothing is made where no history is kept', async () => {
  expect((await madeWithin(50, { isKept: false })).made).toEqual([]);
});

test('a failure is logged, and tried again an hour later', async () => {
  const { made, warned } = await madeWithin(2.5, { fails: true });
  expect(made).toEqual([10, 70, 130]);
  expect(warned[0]).toContain('no evidence of the rules was made');
});
