// domain: timestamps of this API come in s, ms, µs and ns; the magnitude shows which. Years 1973 to 5138 do not overlap
// between units, so the magnitude is unambiguous.

/** Epoch milliseconds (with a fraction for µs and ns) of a timestamp in any unit; undefined for 0 and nonsense. */
export function epochMsOf(value: number | bigint): number | undefined {
  if (typeof value === 'number' && !Number.isInteger(value)) return undefined;
  const size = typeof value === 'bigint' ? Number(value) : value;
  if (size < 1e8) return undefined; // 0 means never; before 1973 is nonsense here
  if (size < 1e11) return size * 1_000; // seconds
  if (size < 1e14) return size; // milliseconds
  if (size < 1e17) return size / 1_000; // microseconds
  if (size < 1e20) return size / 1_000_000; // nanoseconds
  return undefined;
}
