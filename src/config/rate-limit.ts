// Configuration: how often one token may ask. In: the reader of names. Out: requests in a minute, or undefined for no limit.
import type { RateLimits } from '../http/rate-limit.ts';
import type { ConfigReader } from './reader.ts';

const NAME = 'TRUSTWARD_RATE_LIMIT';
const DEFAULT = '3000,600';

/** `3000,600`: reads and writes of one token in a minute; `0`: no limit. */
export function readRateLimits(reader: ConfigReader): RateLimits | undefined {
  const text = reader.text(NAME) ?? DEFAULT;
  if (text === '0') return undefined;
  const parts = /^(\d{1,7})\s*,\s*(\d{1,7})$/.exec(text);
  const [reads, writes] = [Number(parts?.[1]), Number(parts?.[2])];
  if (reads >= 1 && writes >= 1) return { reads, writes };
  reader.fault(
    NAME,
    `${NAME} is \`${text}\`: expected reads and writes in a minute such as ${DEFAULT}, or 0 for no limit`,
  );
  return undefined;
}
