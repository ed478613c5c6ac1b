// http: what is written on a stream of server-sent events. In: audit entries, progress, positions. Out: text, each event ended by an
// empty line. INVARIANT: `data` is one line of JSON, which escapes every line feed: no name can begin an event of its own.
import { familyOf } from '../../domain/audit-entry.ts';
import { shownName } from '../../domain/clip.ts';
import { jsonPieces } from '../../domain/json-pieces.ts';
import type { WorkProgress } from '../../domain/progress.ts';

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
