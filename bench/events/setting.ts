// bench: what the event log and its readers have in common: when its events were, and how many subjects they name.
export const FIRST_MS = 1_768_000_000_000;
/** A million events are twelve days. */
export const SPACING_MS = 1_000;
export const SUBJECTS = 100_000;
