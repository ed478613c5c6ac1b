// history/record: what was recorded last, and what the next run adds to it. In: runs as they were seen, in their order, with the events since.
// Out: each as it is recorded: only what changed. It writes nothing itself; whoever cannot write what it gave begins with a new one.
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { PrintKey } from '../../domain/print-bits.ts';
import type { FactChange, RecordForm, SeenRun } from '../../domain/recorded-history.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { RunToEncode } from '../codec/run-encoder.ts';
import type { EventsOfRun } from './recording-desk.ts';
import { SubjectDiffer } from './subject-differ.ts';

export class Recording {
  readonly differs: Record<SubjectKind, SubjectDiffer>;
  /** The hash of the rule set that is recorded. */
  ruleSet: string | undefined;
  /** The number of the newest event that is recorded, and of the run that it was recorded with. */
  eventsTo: EventsOfRun = { seq: 0, eventsTo: 0 };

  constructor(key: PrintKey) {
    this.differs = {
      device: new SubjectDiffer('device', key),
      user: new SubjectDiffer('user', key),
      service: new SubjectDiffer('service', key),
    };
  }

  presentPrints(kind: SubjectKind, form: RecordForm): PresentPrints {
    return this.differs[kind].presentPrints(form);
  }

  /** The number after which events are to be recorded with this run. */
  eventsAfter({ seq, eventsTo }: EventsOfRun): number {
    // A store that was restored, or has no events left, gives the same numbers to other ones.
    const isAnew = seq <= this.eventsTo.seq || eventsTo < this.eventsTo.eventsTo;
    return isAnew ? 0 : this.eventsTo.eventsTo;
  }

  /** Its changes are to be read once, to their end, before the next run is taken. */
  take({ seen, frame, ruleSet, isClockRight: _, ...rest }: SeenRun, events: Iterable<TrustEvent>): RunToEncode {
    const diffs = seen.map((one) => ({ kind: one.kind, ...this.differs[one.kind].diff(one) }));
    this.eventsTo = { seq: frame.run.seq, eventsTo: frame.eventsTo };
    const isKnown = this.ruleSet === ruleSet.hash;
    this.ruleSet = ruleSet.hash;
    return {
      ...rest,
      frame,
      shows: () => new Map(diffs.map(({ kind, shows }) => [kind, shows()])),
      changes: eachOf(diffs),
      events,
      ...(!isKnown && { ruleSet }),
    };
  }

  get sizes(): Record<SubjectKind, number> {
    const sizes = { device: 0, user: 0, service: 0 };
    for (const kind of SUBJECT_KINDS) sizes[kind] = this.differs[kind].size;
    return sizes;
  }
}

function* eachOf(diffs: readonly { changes: Iterable<FactChange> }[]): Iterable<FactChange> {
  for (const { changes } of diffs) yield* changes;
}
