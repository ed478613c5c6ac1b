// history/record: what was recorded last, and what the next run adds to it. In: runs as they were seen, in their order, with the events since.
// Out: each as it is recorded: only what changed. It writes nothing itself; whoever cannot write what it gave begins with a new one.
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { FactChange, RecordedRun, RecordForm, SeenRun } from '../../domain/recorded-history.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import { SubjectDiffer } from './subject-differ.ts';

export class Recording {
  private readonly differs = {
    device: new SubjectDiffer('device'),
    user: new SubjectDiffer('user'),
    service: new SubjectDiffer('service'),
  };
  /** The hash of the rule set that is recorded. */
  private ruleSet: string | undefined;
  /** The number of the newest event that is recorded. */
  private eventsTo = 0;

  presentPrints(kind: SubjectKind, form: RecordForm): PresentPrints {
    return this.differs[kind].presentPrints(form);
  }

  /** The number after which events are to be recorded with a run that knows them up to another one. */
  eventsAfter(eventsTo: number): number {
    // The store numbers events anew when it has none left, or was restored.
    return eventsTo < this.eventsTo ? 0 : this.eventsTo;
  }

  take({ seen, frame, ruleSet, ...rest }: SeenRun, events: readonly TrustEvent[]): RecordedRun {
    const changes: FactChange[] = [];
    const shows = new Map<SubjectKind, ReadonlySet<string>>();
    for (const one of seen) {
      const diff = this.differs[one.kind].diff(one);
      changes.push(...diff.changes);
      shows.set(one.kind, diff.shows);
    }
    this.eventsTo = frame.eventsTo;
    const isKnown = this.ruleSet === ruleSet.hash;
    this.ruleSet = ruleSet.hash;
    return { ...rest, frame: { ...frame, shows }, changes, events, ...(!isKnown && { ruleSet }) };
  }

  get sizes(): Record<SubjectKind, number> {
    const sizes = { device: 0, user: 0, service: 0 };
    for (const kind of SUBJECT_KINDS) sizes[kind] = this.differs[kind].size;
    return sizes;
  }
}
