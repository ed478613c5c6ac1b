// domain: times as text: UTC, ISO 8601. Only converts; the clock alone knows the time.
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
