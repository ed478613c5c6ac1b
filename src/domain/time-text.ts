// domain: times as text: UTC, ISO 8601. Only converts; the clock alone knows the time.
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** `10:15:00 UTC`; with its date when that is not the day of `nowMs`. */
export function timeOfDay(epochMs: number, nowMs: number): string {
  const [day, time] = isoTime(epochMs).split('T') as [string, string];
  return `${isoTime(nowMs).startsWith(day) ? '' : `${day} `}${time.slice(0, 8)} UTC`;
}

/** For people, in a sentence: `2026-11-21 09:37:02 UTC`. */
export function timeText(epochMs: number): string {
  const [day, time] = isoTime(epochMs).split('T') as [string, string];
  return `${day} ${time.slice(0, 8)} UTC`;
}
