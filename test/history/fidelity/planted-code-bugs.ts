// fidelity: bugs planted on purpose inside the recorder, its differ, the world of a replay and its kept verdicts; the proof must find each of them.
// In: the name of a bug. Out: the product with the bug in it, until it is taken out again. Nothing in the product knows of these.
import type { TrustEvent } from '../../../src/domain/event.ts';
import type { TakeChange } from '../../../src/history/codec/run-encoder.ts';
import { Recording } from '../../../src/history/record/folder-recording.ts';
import { DiffPass } from '../../../src/history/record/subject-differ.ts';
import { EventTurns, KeptJoins, KeptVerdicts } from '../../../src/history/replay/kept-verdicts.ts';
import { RecordedWorld } from '../../../src/history/replay/recorded-world.ts';
import { WorldKind } from '../../../src/history/replay/world-kind.ts';

type Take = () => void;
type Method = (...args: never[]) => unknown;

/** `sick` has the healthy method as its first argument, and its object as `this`. */
function planted(of: { prototype: object }, name: string, sick: (healthy: Method) => Method): Take {
  const own = of.prototype as Record<string, Method>;
  const healthy = own[name];
  if (typeof healthy !== 'function') throw new Error(`there is no ${name} any more`);
  own[name] = sick(healthy);
  return () => {
    own[name] = healthy;
  };
}

/** In recording: the month is played with the bug. */
export const IN_RECORDING = {
  the_differ_misses_one_field: {
    seed: 10,
    plant: () =>
      planted(
        DiffPass,
        'take',
        (healthy) =>
          function (this: unknown, subject: string, record: unknown, take: TakeChange) {
            const most: TakeChange = (...change) => change[2] !== 'MdmData.Timestamp' && take(...change);
            healthy.apply(this, [subject, record, most] as never);
          } as Method,
      ),
  },
  the_differ_keeps_gone_subjects: {
    seed: 10,
    plant: () =>
      planted(
        DiffPass,
        'remove',
        () =>
          function (this: unknown, subject: string, take: TakeChange) {
            take('device', subject, 'Gone', undefined);
          } as Method,
      ),
  },
  the_differ_takes_untrusted_readings_as_recorded: {
    seed: 13,
    plant: () =>
      planted(
        DiffPass,
        'take',
        (healthy) =>
          function (this: { isTrusted: boolean }, ...args) {
            this.isTrusted = true;
            return healthy.apply(this as never, args);
          } as Method,
      ),
  },
  the_recorder_skips_an_event_of_each_run: {
    seed: 10,
    plant: () =>
      planted(
        Recording,
        'eventsAfter',
        (healthy) =>
          function (this: unknown, ...args) {
            return (healthy.apply(this, args) as number) + 1;
          },
      ),
  },
} satisfies { [bug: string]: { seed: number; plant: () => Take } };

/** In replaying: a healthy record is replayed with the bug. */
export const IN_REPLAYING = {
  the_world_keeps_serial_numbers: {
    seed: 22,
    plant: () =>
      planted(
        WorldKind,
        'set',
        (healthy) =>
          function (this: { unjoin?: Method }, ...args) {
            this.unjoin = () => undefined;
            healthy.apply(this as never, args);
            delete this.unjoin;
          } as Method,
      ),
  },
  the_world_keeps_untrusted_readings: {
    seed: 13,
    plant: () => planted(RecordedWorld, 'restore', () => () => undefined),
  },
  verdicts_are_not_looked_at_again_with_time: {
    seed: 22,
    plant: () => planted(KeptVerdicts, 'schedule', () => () => undefined),
  },
  verdicts_are_not_looked_at_again_when_events_leave_a_window: {
    seed: 10,
    plant: () =>
      planted(
        EventTurns,
        'observe',
        (healthy) =>
          function (this: { due: { clear(): void } }, ...args) {
            healthy.apply(this as never, args);
            this.due.clear();
          } as Method,
      ),
  },
  verdicts_do_not_see_what_joins_changed: {
    seed: 10,
    plant: () =>
      planted(
        KeptJoins,
        'renew',
        (healthy) =>
          function (this: unknown, ...args) {
            healthy.apply(this, args);
            return { device: new Set(), user: new Set() };
          },
      ),
  },
  windows_count_an_event_twice: {
    seed: 10,
    plant: () =>
      planted(
        KeptVerdicts,
        'observe',
        (healthy) =>
          function (this: unknown, events: readonly TrustEvent[]) {
            const again = events.slice(0, 1).map((event) => ({ ...event, id: `${event.id} again` }));
            return healthy.call(this, ...([[...events, ...again]] as never[]));
          } as Method,
      ),
  },
} satisfies { [bug: string]: { seed: number; plant: () => Take } };
