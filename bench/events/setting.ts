// bench: what the event log and its readers have in common: when its events were, how many subjects they name,
// and how reading them is timed.
export const FIRST_MS = 1_768_000_000_000;
/** A million events are twelve days. */
export const SPACING_MS = 1_000;
export const SUBJECTS = 100_000;

/** Processor time in ms, and the time that passed. */
export interface Timed<T> {
  value: T;
  ms: number;
  passedMs: number;
}

export async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  globalThis.gc?.();
  const [before, start] = [process.cpuUsage(), performance.now()];
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return { value, ms: (user + system) / 1_000, passedMs: performance.now() - start };
}
