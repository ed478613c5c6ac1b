// domain: the store as pulling sees it. In: events as they are read. Out: results of earlier reads, to decide whether a list can be
// trusted. It holds no records of the fleet.
import type { TrustEvent } from './event.ts';
import type { PresentPrints } from './identity.ts';
import type { Movement } from './movement.ts';
import type { Acceptance } from './operator.ts';
import type { PrintKey } from './print-bits.ts';
import type { Baseline, Coverage } from './snapshot.ts';
import type { ObservedEvents } from './store.ts';
import type { Source, SubjectKind } from './subjects.ts';

export interface PullReader {
  /** Stored events from a time on, oldest first, in batches; `type`: only those of this type. */
  events(fromMs: number, type?: string): AsyncIterable<TrustEvent[]>;
  coverage(): Promise<Coverage[]>;
  baseline(source: Source): Promise<Baseline | undefined>;
  /** Of the readings of this form. */
  movement(source: Source, form: string): Promise<Movement | undefined>;
  /** Accepted readings that are not used yet. */
  acceptances(): Promise<Acceptance[]>;
  /** Made with this key, which is always the same one. */
  presentPrints(kind: SubjectKind, key: PrintKey): Promise<PresentPrints>;
}

export interface PullStore extends PullReader {
  observeEvents(observed: ObservedEvents): Promise<{ added: number }>;
}
