// http: which events a stream shows. In: the kinds and rules that a client asks for. Out: a filter, or what is allowed instead.

import { jsonPieces } from '../../../base/json.ts';
import { shownName } from '../../../base/text.ts';
import { familyOf } from '../../../domain/audit-entry.ts';
import { type EventSchema, LIVE_EVENTS } from '../../../domain/live-event.ts';
import type { WorkProgress } from '../../../domain/replay.ts';

export interface KindFilter {
  /** Equal for equal filters. */
  key: string;
  /** Of an audit entry, `outcome` or `progress`. */
  has(kind: string): boolean;
  /** Whether events of these rules are shown. */
  hasRule(rules: readonly string[]): boolean;
  /** Whether it shows decisions or outcomes, whose records are read for it. */
  hasRecords: boolean;
  /** Undefined: our own. */
  schema: EventSchema | undefined;
}

const LIVE: readonly string[] = LIVE_EVENTS;

/**
 * @param text families or kinds, separated by commas; undefined: all.
 * @param rules ids, separated by commas: only decisions and outcomes of these; undefined: of all rules, and everything else.
 * @param schema of others: it has no progress.
 */
export function kindFilter(text: string | undefined, rules?: string, schema?: EventSchema): KindFilter {
  const asked = text === undefined ? undefined : new Set(text.split(','));
  const named = rules === undefined ? undefined : new Set(rules.split(','));
  const has = (kind: string) =>
    (schema === undefined || familyOf(kind) !== 'progress') &&
    (named === undefined || LIVE.includes(familyOf(kind))) &&
    (asked === undefined || asked.has(kind) || asked.has(familyOf(kind)));
  return {
    key: JSON.stringify([asked && [...asked].sort(), named && [...named].sort(), schema]),
    has,
    hasRule: (of) => named === undefined || of.some((rule) => named.has(rule)),
    hasRecords: schema !== undefined || has('decision.made') || has('outcome'),
    schema,
  };
}

// What is written on a stream of server-sent events. In: audit entries, progress, positions. Out: text, each event
// ended by an empty line. INVARIANT: `data` is one line of JSON, which escapes every line feed: no name can begin an
// event of its own.

/** How long a client waits before it connects again. */
const RETRY_MS = 2_000;

/** The first line of a stream has its position: a client that is cut off before the first event misses none. */
export function openingFrame(seq: number): string {
  return `retry: ${RETRY_MS}\n${beatFrame(seq)}`;
}

/** Without data it is no event. It passes on the position, which a filter may have moved far beyond the last event. */
export function beatFrame(seq: number): string {
  return `: trustward\nid: ${seq}\n\n`;
}

/** The entries in between are lost to this client: it reads anew what it shows. */
export function resetFrame(head: number): string {
  return `id: ${head}\nevent: reset\ndata: ${jsonText({ head })}\n\n`;
}

export function entryFrame(seq: number, kind: string, view: object): string {
  return `id: ${seq}\nevent: ${familyOf(kind)}\ndata: ${jsonText(view)}\n\n`;
}

/** @param seq undefined: a frame with the number of the entry follows. */
export function liveFrame(seq: number | undefined, event: string, view: object): string {
  return `${seq === undefined ? '' : `id: ${seq}\n`}event: ${event}\ndata: ${jsonText(view)}\n\n`;
}

/** Without an id: it is not in the audit, and nobody gets it again. */
export function progressFrame({ run, plan, trial, phase, what, done, total }: WorkProgress): string {
  const data = { run, plan, trial, phase, what: what === undefined ? undefined : shownName(what), done, total };
  return `event: progress\ndata: ${jsonText(data)}\n\n`;
}

function jsonText(value: object): string {
  return [...jsonPieces(value)].join('');
}
