// domain: decisions and outcomes as others react to them. In: audit entries in order, and the records that they name. Out: one event for
// each entry that is a decision or an outcome. The audit is the only log of them: each event has the number of its entry.
import { type AuditEntry, entryBody } from './audit-entry.ts';
import type { StoredDecision } from './decision.ts';
import { type Facts, ownText } from './facts.ts';
import type { Intent } from './intent.ts';
import type { PageReader, RecordReader } from './store-ports.ts';

export const LIVE_EVENTS = ['decision', 'outcome'] as const;

/** The schemas of others that streams, webhooks and exports can write events in; `cloudevents-ocsf`: events of OCSF in envelopes of CloudEvents. */
export const EVENT_SCHEMAS = ['ocsf', 'cloudevents', 'cloudevents-ocsf'] as const;
export type EventSchema = (typeof EVENT_SCHEMAS)[number];

/** The records are as they are now: what became of them later shows too. Undefined: removed since. */
export type LiveEvent = { entry: AuditEntry; rules: readonly string[]; isDryRun: boolean } & (
  | { event: 'decision'; decision: StoredDecision | undefined }
  | {
      event: 'outcome';
      /** As the entry has it: an outcome, or `withdrawn`. */
      result: string;
      note: string | undefined;
      intent: Intent | undefined;
    }
);

export type LiveReader = Pick<RecordReader, 'intents'> & Pick<PageReader, 'decisionsById'>;

/** The events of these entries, by the number of the entry. */
export async function liveEventsOf(
  reader: LiveReader,
  entries: readonly AuditEntry[],
): Promise<ReadonlyMap<number, LiveEvent>> {
  const read = entries.flatMap((entry) => readEntry(entry) ?? []);
  const idsOf = (event: LiveEvent['event']) => [...new Set(read.flatMap((one) => (one.event === event ? one.id : [])))];
  const [decisionIds, intentIds] = [idsOf('decision'), idsOf('outcome')];
  const decisions = decisionIds.length === 0 ? [] : await reader.decisionsById(decisionIds);
  const intents = intentIds.length === 0 ? [] : await reader.intents({ ids: intentIds });
  const decisionOf = new Map(decisions.map((decision) => [decision.id, decision]));
  const intentOf = new Map(intents.map((intent) => [intent.id, intent]));
  const events = read.map(({ entry, id, event, body, result }): LiveEvent => {
    if (event === 'decision') {
      const decision = decisionOf.get(id);
      const rule = decision?.rule ?? ownText(body, 'rule');
      const isDryRun = (decision?.mode ?? ownText(body, 'mode')) === 'dry-run';
      return { entry, event, decision, rules: rule === undefined ? [] : [rule], isDryRun };
    }
    const intent = intentOf.get(id);
    const rules = [...new Set(intent?.basis.map(({ rule }) => rule))];
    const note = ownText(body, 'note') ?? ownText(body, 'text') ?? ownText(body, 'reason');
    return { entry, event, result, note, intent, rules, isDryRun: entry.kind === 'intent.dry' };
  });
  return new Map(events.map((event) => [event.entry.seq, event]));
}

interface ReadEntry {
  entry: AuditEntry;
  event: LiveEvent['event'];
  /** Of the decision or the intent. */
  id: string;
  body: Facts;
  result: string;
}

/** What a person says of an intent, as its outcome. */
const RESOLVED: { readonly [as: string]: string } = { done: 'confirmed', 'not-done': 'failed', retry: 'unknown' };

/** Undefined: neither a decision nor an outcome. */
function readEntry(entry: AuditEntry): ReadEntry | undefined {
  const { kind } = entry;
  if (kind !== 'decision.made' && !isOutcome(kind)) return undefined;
  const body = entryBody(entry);
  const id = ownText(body, kind === 'decision.made' ? 'decision' : 'intent');
  // A dry release has no intent: it shows a person what would be done.
  if (id === undefined) return undefined;
  if (kind === 'decision.made') return { entry, event: 'decision', id, body, result: '' };
  return { entry, event: 'outcome', id, body, result: resultOf(kind, body) };
}

function isOutcome(kind: string): boolean {
  return ['intent.settled', 'intent.dry', 'intent.withdrawn', 'intent.resolved'].includes(kind);
}

function resultOf(kind: string, body: Facts): string {
  if (kind === 'intent.dry') return 'dry_run';
  if (kind === 'intent.withdrawn') return 'withdrawn';
  return ownText(body, 'outcome') ?? RESOLVED[ownText(body, 'as') ?? ''] ?? 'unknown';
}
