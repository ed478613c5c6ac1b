// test: a window counts each event of a subject once, by whichever of its two names the event has, as a naive count does.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EventCount } from '../../src/rules/language/expression.ts';
import { EventWindow } from '../../src/rules/windows.ts';

interface Step {
  first: string | undefined;
  second: string | undefined;
  at: number;
  value: string;
  /** Asks, or forgets what is older, instead of adding an event. */
  does: 'add' | 'read' | 'forget';
}

const step: fc.Arbitrary<Step> = fc.record({
  first: fc.constantFrom(undefined, 'a', 'b', 'c'),
  second: fc.constantFrom(undefined, 'x', 'y', 'z'),
  at: fc.integer({ min: 0, max: 30 }),
  value: fc.constantFrom('s1', 's2', 's3'),
  does: fc.constantFrom('add', 'add', 'add', 'read', 'forget'),
});

const spec = (what: EventCount['what']): EventCount => ({
  what,
  subject: 'device',
  withinMs: 10,
  types: undefined,
  subTypes: undefined,
  actions: undefined,
  results: undefined,
  severityMin: undefined,
  where: undefined,
  of: what === 'event_distinct' ? ['value'] : undefined,
});

it('an event of a subject counts once, by either name or by both', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.boolean(), (steps, distinct) => {
      const window = new EventWindow(spec(distinct ? 'event_distinct' : 'event_count'));
      let events: Step[] = [];
      for (const { does, ...each } of steps) {
        const keys = { first: each.first, second: each.second };
        if (does === 'forget') {
          window.forget(each.at - 15);
          events = events.filter(({ at }) => at >= each.at - 15);
        } else if (does === 'add') {
          if (!keys.first && !keys.second) continue;
          window.add(keys, each.at, distinct ? each.value : '', true);
          events.push({ ...each, does });
        } else {
          const [fromMs, toMs] = [each.at - 10, each.at];
          const view = { nowMs: toMs, fromMs, toMs, whole: true, knownSinceMs: fromMs };
          const counted = events.filter(
            ({ first, second, at }) =>
              at >= fromMs && at <= toMs && ((first && first === keys.first) || (second && second === keys.second)),
          );
          const expected = distinct ? new Set(counted.map(({ value }) => value)).size : counted.length;
          expect(window.read(keys, view)).toBe(expected);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});
