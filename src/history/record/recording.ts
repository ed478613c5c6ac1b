// history/record: what was recorded last, and what the next run adds to it. In: runs as they were seen, in their order, with the events since.
// Out: each as it is recorded: only what changed. It writes nothing itself; whoever cannot write what it gave begins with a new one.
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { FactChange, RecordForm, SeenRun } from '../../domain/recorded-history.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { RunToEncode } from '../codec/run-encoder.ts';
import { SubjectDiffer } from './subject-differ.ts';

export class Recording {
  readonly differs = {
    device: new SubjectDiffer('device'),
    user: new SubjectDiffer('user'),
    service: new SubjectDiffer('service'),
  };
  /** The hash of the rule set that is recorded. */
  ruleSet: string | undefined;
  /** The number of the newest event that is recorded. */
  eventsTo = 0;

  presentPrints(kind: SubjectKind, form: RecordForm): PresentPrints {
    return this.differs[kind].presentPrints(form);
  }

  /** The number after which events are to be recorded with a run that knows them up to another one. */
  eventsAfter(eventsTo: number): number {
    // The store numbers events anew when it has none left, or was restored.
    return eventsTo < this.eventsTo ? 0 : this.eventsTo;
  }

  /** Its changes are to be read once, to their end, before the next run is taken. */
  take({ seen, frame, ruleSet, isClockRight: _, ...rest }: SeenRun, events: Iterable<TrustEvent>): RunToEncode {
    const diffs = seen.map((one) => ({ kind: one.kind, ...this.differs[one.kind].diff(one) }));
    this.eventsTo = frame.eventsTo;
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
