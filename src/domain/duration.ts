// domain: durations as people write them ("10m", "7d"), in milliseconds inside.
const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w)$/;

/** Milliseconds of a duration such as `0s`, `10m`, `1.5h`, `90d`; undefined when it is not one. */
export function parseDuration(text: string): number | undefined {
  const parts = PATTERN.exec(text.trim());
  if (!parts) return undefined;
  return Number(parts[1]) * (UNIT_MS[parts[2] as string] as number);
}

/** The shortest whole form: 600000 → `10m`. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const size = UNIT_MS[unit] as number;
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return ms < 1_000 ? `${ms}ms` : `${(ms / 1_000).toFixed(1)}s`;
}
