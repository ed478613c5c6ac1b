// commands: how many decisions CSV is written of. Apart from decisions-csv.ts, which is loaded only where CSV is asked for.

/** As many as are read at once. */
export const PAGE_MAX = 1_000;
/** Other formats are held whole, and end at 10,000. */
export const CSV_LIMIT_MAX = 100_000_000;
