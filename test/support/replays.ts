// Replays as tests build them: a rule that would have banned the wrong forty, with a gap and names that devices chose.
import type { Replay, ReplayDifference, ReplayedAct, ReplayedRule } from '../../src/domain/replay.ts';

export const DAY_MS = 86_400_000;
export const FROM = Date.UTC(2026, 9, 24);
export const HOSTILE = '=cmd|"/c calc"!A1‮<script>alert(1)</script>';

export function replayedAct(over: Partial<ReplayedAct> = {}): ReplayedAct {
  return {
    atMs: FROM + 5 * DAY_MS,
    runSeq: 120,
    rule: 'ban-jailbroken',
    subject: { kind: 'device', id: 'd-1' },
    subjectName: "Ana's phone",
    owners: ['ana@example.com'],
    action: 'ban_device',
    target: 'S-1',
    undo: false,
    lastedMs: 3 * DAY_MS,
    isOver: true,
    personDidAtMs: undefined,
    personUndidAtMs: undefined,
    ...over,
  };
}

export function replayedRule(over: Partial<ReplayedRule> = {}): ReplayedRule {
  return {
    id: 'ban-jailbroken',
    title: 'A jailbroken device',
    hash: 'sha256:12',
    mode: 'dry-run',
    matches: 0,
    acts: 0,
    undos: 0,
    mostInRun: 0,
    mostInRunAtMs: undefined,
    mostInDay: 0,
    mostInDayAtMs: undefined,
    allowed: { limits: 25, run: 50, day: 100 },
    mostTargets: 0,
    flaps: 0,
    lasted: undefined,
    personDid: 0,
    personUndid: 0,
    unknown: 0,
    missing: {},
    held: [],
    notice: undefined,
    ...over,
  };
}

export function replay(over: Partial<Replay> = {}): Replay {
  return {
    way: 'what_if',
    fromMs: FROM,
    toMs: FROM + 30 * DAY_MS,
    askedFromMs: FROM,
    everyMs: undefined,
    runs: 8_640,
    wholeRuns: 8_640,
    decidedRuns: 8_640,
    gaps: [],
    rules: [replayedRule()],
    acts: [],
    differences: [],
    untrusted: [],
    notes: [],
    unread: [],
    neverRecorded: [],
    buckets: [],
    ...over,
  };
}

export function difference(over: Partial<ReplayDifference> = {}): ReplayDifference {
  return {
    atMs: FROM + DAY_MS,
    runSeq: 7,
    rule: 'ban-jailbroken',
    target: 'S-1',
    was: 'act rule_matches',
    is: undefined,
    reason: 'the gap before this run',
    isExplained: true,
    ...over,
  };
}

/** Forty devices of 31 people over a month: 12 acted on one by one, 28 held at once by the limits. */
export function wrongForty(over: Partial<Replay> = {}): Replay {
  const owner = (n: number) => `person${n % 31}@example.com`;
  const acts = Array.from({ length: 12 }, (_, n) =>
    replayedAct({
      atMs: FROM + (2 * n + 1) * DAY_MS,
      runSeq: 288 * (2 * n + 1),
      subject: { kind: 'device', id: `0f8e1c7a-94c1-4a53-a6c6-6d6b4c6bd0${String(n).padStart(2, '0')}` },
      subjectName: n === 3 ? HOSTILE : `Laptop ${n}`,
      owners: [owner(n)],
      target: `C02MQHAH${String(n).padStart(2, '0')}`,
      lastedMs: n === 11 ? 7 * DAY_MS : n === 5 ? 1_800_000 : 2 * DAY_MS,
      isOver: n !== 11,
      personDidAtMs: n === 2 ? FROM + 6 * DAY_MS : undefined,
      personUndidAtMs: n === 4 ? FROM + 10 * DAY_MS : undefined,
    }),
  );
  const undos = acts
    .filter(({ isOver }) => isOver)
    .map((act) => ({ ...act, atMs: act.atMs + (act.lastedMs ?? 0), undo: true, lastedMs: undefined }));
  const examples = Array.from({ length: 28 }, (_, n) => ({
    ...replayedAct({ subject: { kind: 'device', id: `d-${n}` }, subjectName: `Phone ${n}`, owners: [owner(12 + n)] }),
    reasonText: '28 targets; the limit is 25',
  }));
  const buckets = Array.from({ length: 180 }, (_, n) => {
    const [fromMs, toMs] = [FROM + (n * DAY_MS) / 6, FROM + ((n + 1) * DAY_MS) / 6];
    const inIt = (one: ReplayedAct) => one.atMs >= fromMs && one.atMs < toMs;
    const isGap = n >= 60 && n < 72;
    const rules = {
      'ban-jailbroken': {
        matches: isGap ? 0 : n > 120 ? 28 : n % 7,
        acts: acts.filter(inIt).length,
        undos: undos.filter(inIt).length,
        unknown: 3,
      },
    };
    return { fromMs, toMs, runs: isGap ? 0 : 48, rules };
  });
  return replay({
    gaps: [
      {
        fromMs: FROM + 10 * DAY_MS,
        toMs: FROM + 12 * DAY_MS,
        cause: 'damaged',
        text: '2026-11-03/10.parquet is cut off: its last bytes are missing',
      },
    ],
    rules: [
      replayedRule({
        matches: 40,
        acts: 12,
        undos: 11,
        mostInRun: 3,
        mostInRunAtMs: FROM + 5 * DAY_MS,
        mostInDay: 5,
        mostInDayAtMs: FROM + 5 * DAY_MS,
        mostTargets: 28,
        flaps: 1,
        lasted: { medianMs: 2 * DAY_MS, longestMs: 7 * DAY_MS },
        personDid: 1,
        personUndid: 1,
        unknown: 9,
        missing: { 'MdmData.Jailbroken': 8, 'MdmData.LastSeen': 1 },
        held: [{ decision: 'hold', reason: 'limits', targets: 28, examples }],
      }),
    ],
    acts: [...acts, ...undos].sort((one, other) => one.atMs - other.atMs),
    buckets,
    ...over,
  });
}
