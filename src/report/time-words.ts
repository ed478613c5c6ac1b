// report: times of a document as text for people. In: ISO 8601 in UTC. Out: the same without what nobody reads.

/** `2026-11-21T09:37:02.123Z` → `2026-11-21 09:37:02 UTC`. */
export function timeWords(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** The same for a column, where it may wrap between date and time: `2026-11-21 09:37:02Z`. */
export function timeCell(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}Z`;
}
