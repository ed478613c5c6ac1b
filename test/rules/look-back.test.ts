// test: what is known of the past: it is never more than what runs saw, a gap makes it unknown, and it is the same whether it was read from the
// history or seen run by run.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact, Facts } from '../../src/domain/facts.ts';
import { type FactChange, LOOK_BACK_GAP_MS, type LookBackRun } from '../../src/domain/look-back.ts';
import type { LookedBack } from '../../src/rules/language/expression.ts';
import { hasChanged, LookBackTracks, newTrack, step, type Track, valueBefore } from '../../src/rules/look-back.ts';
import { TEXT } from '../../src/rules/record-types/field-types.ts';

const HOUR = 3_600_000;
const TICK = 8 * HOUR;

const past = (path: string): LookedBack => ({
  asks: 'changed',
  present: { kind: 'path', key: path, label: path, path: [path], type: TEXT, fallback: undefined, fresh: [] },
  withinMs: 10 * TICK,
});

type Seen = string | undefined | 'no run';

/** What each tick shows; `no run`: nothing was read then. */
const ticks = fc.array(fc.constantFrom<Seen>('a', 'a', 'a', 'b', 'c', undefined), { minLength: 1, maxLength: 24 });

/** Removes stretches that are longer than a gap: four ticks in a row leave 40 hours between two runs. */
function withGaps(seen: readonly Seen[], gaps: readonly number[]): Seen[] {
  return seen.map((value, at) =>
    gaps.some((from) => at >= from && at < from + 4 && from + 4 < seen.length) ? 'no run' : value,
  );
}

function trackOf(seen: readonly Seen[]): Track {
  const track = newTrack(undefined);
  seen.forEach((value, at) => {
    if (value !== 'no run') step(track, value, at * TICK);
  });
  return track;
}

/** By definition, from everything that there was. */
function naively(all: readonly (string | undefined)[], fromMs: number): { changed: boolean; before: Fact | undefined } {
  const known = all.flatMap((value, at) => (value === undefined ? [] : [{ value, atMs: at * TICK }]));
  const changes = known.flatMap(({ value, atMs }, at) =>
    at > 0 && known[at - 1]?.value !== value ? [{ atMs, at }] : [],
  );
  const last = changes.at(-1);
  const before = all.at(-1) === undefined ? known.at(-1)?.value : last && known[last.at - 1]?.value;
  return { changed: changes.some(({ atMs }) => atMs > fromMs), before };
}

describe('what is known of the past', () => {
  it('says nothing that some completion of its gaps contradicts', () => {
    let [knew, guessed] = [0, 0];
    fc.assert(
      fc.property(
        ticks,
        fc.array(fc.nat(22), { maxLength: 2 }),
        fc.nat(24),
        fc.array(ticks, { minLength: 3, maxLength: 3 }),
        (truth, gaps, back, others) => {
          const seen = withGaps(truth, gaps);
          const now = (seen.length - 1) * TICK;
          const track = trackOf(seen);
          const changed = hasChanged(track, now - back * TICK);
          const before = valueBefore(track);
          for (const other of [truth, ...others]) {
            const all = seen.map((value, at) => (value === 'no run' ? (other[at % other.length] as string) : value));
            const naive = naively(all, now - back * TICK);
            if (changed !== undefined && track.isThere) expect(changed).toBe(naive.changed);
            if (before !== undefined) expect(before).toBe(naive.before);
          }
          if (changed === undefined) guessed += 1;
          else knew += 1;
        },
      ),
      { numRuns: 3_000 },
    );
    expect(Math.min(knew, guessed)).toBeGreaterThan(100);
  });

  it('is known whole where runs never stopped', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 2, maxLength: 20 }),
        fc.nat(19),
        (all, back) => {
          const now = (all.length - 1) * TICK;
          const from = Math.max(0, now - back * TICK);
          expect(hasChanged(trackOf(all), from)).toBe(naively(all, from).changed);
          expect(valueBefore(trackOf(all))).toBe(naively(all, 0).before);
        },
      ),
    );
  });

  it('takes a stretch of exactly 24 hours for no gap, and a longer one for one', () => {
    const answersAfter = (ms: number) => {
      const track = newTrack(undefined);
      step(track, 'a', 0);
      step(track, 'b', HOUR);
      step(track, 'b', HOUR + ms);
      return [hasChanged(track, 2 * HOUR), valueBefore(track)];
    };
    expect(answersAfter(LOOK_BACK_GAP_MS)).toEqual([false, 'a']);
    expect(answersAfter(LOOK_BACK_GAP_MS + 1)).toEqual([undefined, undefined]);
  });

  it('knows that a value changed across a gap when the gap lies within the time asked about', () => {
    const track = newTrack(undefined);
    step(track, 'a', 0);
    step(track, 'b', 3 * LOOK_BACK_GAP_MS);
    expect(hasChanged(track, 0)).toBe(true);
    expect(hasChanged(track, 1)).toBeUndefined();
    expect(valueBefore(track)).toBeUndefined();
  });

  it('keeps the last value of a field that has none now, for as long as runs see that', () => {
    const track = newTrack(undefined);
    step(track, 'a', 0);
    for (let day = 1; day <= 30; day += 1) step(track, undefined, day * LOOK_BACK_GAP_MS);
    expect(valueBefore(track)).toBe('a');
    step(track, undefined, 32 * LOOK_BACK_GAP_MS);
    expect(valueBefore(track)).toBeUndefined();
  });

  it('takes another order of a list for no change', () => {
    const track = newTrack(undefined);
    step(track, ['a', 'b'], 0);
    step(track, ['b', 'a'], HOUR);
    expect(track.changedMs).toBeUndefined();
    step(track, ['b'], 2 * HOUR);
    expect(track.changedMs).toBe(2 * HOUR);
  });
});

/** One run of a small fleet: what it saw of each device, and whether it counts. */
interface Round {
  hours: number;
  how: 'whole' | 'look' | 'untrusted';
  devices: (Facts | undefined)[];
}

const device = fc.option(
  fc.record({ Level: fc.constantFrom<Fact>('x', 'y', null, 5), Model: fc.constantFrom<Fact>('m', 'n') }),
  { nil: undefined, freq: 8 },
);
const round: fc.Arbitrary<Round> = fc.record({
  hours: fc.constantFrom(1, 1, 6, 24, 30, -2),
  how: fc.constantFrom('whole', 'whole', 'whole', 'look', 'untrusted'),
  devices: fc.tuple(device, device, device),
});

function freshTracks(): LookBackTracks {
  const tracks = new LookBackTracks();
  for (const path of ['Level', 'Model']) tracks.register('device', past(path));
  tracks.filled();
  return tracks;
}

const recordOf = (facts: Facts, at: number): Facts => ({ DeviceID: `d${at}`, ...facts });
const stateOf = (tracks: LookBackTracks) =>
  [0, 1, 2].map((at) => [0, 1].map((fact) => tracks.track('device', `d${at}`, fact)));

/** As the history has it: what each trusted reading changed of what was there before. */
class Recorded {
  private readonly standing = new Map<string, Facts>();

  run({ how, devices }: Round, atMs: number): LookBackRun {
    const changes: FactChange[] = [];
    const at = (subject: string, path: string, value: Fact | undefined) =>
      changes.push({ kind: 'device', subject, path, value });
    devices.forEach((facts, index) => {
      const id = `d${index}`;
      const before = this.standing.get(id);
      if (!facts) {
        if (how === 'look' || !before) return;
        this.standing.delete(id);
        at(id, '', undefined);
        return;
      }
      for (const [path, value] of Object.entries(facts))
        if (!before || before[path] !== value) at(id, path, value === null ? undefined : value);
      this.standing.set(id, facts);
    });
    const singly = devices.flatMap((facts, index) => (facts ? [{ kind: 'device' as const, id: `d${index}` }] : []));
    return how === 'whole' ? { atMs, read: ['device'], singly: [], changes } : { atMs, read: [], singly, changes };
  }
}

it('knows the same after a start, from the history alone, as a process that saw every run', () => {
  fc.assert(
    fc.property(fc.array(round, { maxLength: 25 }), (rounds) => {
      const seen = freshTracks();
      const recorded = new Recorded();
      const runs: LookBackRun[] = [];
      let nowMs = 100 * LOOK_BACK_GAP_MS;
      for (const one of rounds) {
        nowMs += one.hours * HOUR;
        const pass = seen.pass('device', nowMs, one.how === 'look' ? 'single' : 'whole');
        one.devices.forEach((facts, at) => {
          if (facts) pass.accept(recordOf(facts, at));
        });
        if (one.how === 'untrusted') continue;
        pass.takeOver();
        runs.push(recorded.run(one, nowMs));
      }
      const filled = freshTracks();
      for (const run of runs) filled.observe({ kind: 'run', run });
      expect(stateOf(filled)).toEqual(stateOf(seen));
    }),
    { numRuns: 2_000 },
  );
});

it('an answer changes with time alone at no other moment than the one that is named', () => {
  fc.assert(
    fc.property(fc.array(round, { minLength: 1, maxLength: 12 }), fc.nat(400), (rounds, hours) => {
      const tracks = freshTracks();
      const recorded = new Recorded();
      let nowMs = 100 * LOOK_BACK_GAP_MS;
      for (const one of rounds.filter(({ how }) => how !== 'untrusted')) {
        nowMs += one.hours * HOUR;
        tracks.observe({ kind: 'run', run: recorded.run(one, nowMs) });
      }
      const track = tracks.track('device', 'd0', 0);
      if (!track) return;
      const answerAt = (atMs: number) => hasChanged(track, atMs - 10 * TICK);
      const next = tracks.nextChangeMs({ kind: 'device', id: 'd0' }, nowMs) ?? Number.POSITIVE_INFINITY;
      const later = nowMs + hours * HOUR;
      if (later < next) expect(answerAt(later)).toBe(answerAt(nowMs));
    }),
  );
});
