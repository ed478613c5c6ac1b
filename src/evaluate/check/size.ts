// evaluate: how deep and large a condition may be. In: a condition as written. Out: why it is too large, or nothing.
// It is iterative because its input may be nested without bound. The checks after it are recursive.
import { type Fact, isFacts } from '../../domain/facts.ts';

export const DEPTH_MAX = 32;
export const NODES_MAX = 1_000;

interface TooMuch {
  code: 'too_deep' | 'too_large';
  message: string;
}

const TOO_LARGE: TooMuch = {
  code: 'too_large',
  message: `\`when\` is too large: more than ${NODES_MAX} operators and values`,
};

/** Why a condition is too deep or too large, or undefined. Iterative: the value may be nested without bound. */
export function measure(raw: Fact): TooMuch | undefined {
  let nodes = 0;
  const waiting: { value: Fact; depth: number }[] = [{ value: raw, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth } = next;
    if (depth > DEPTH_MAX)
      return { code: 'too_deep', message: `\`when\` is nested deeper than ${DEPTH_MAX} operators` };
    if (!Array.isArray(value) && ++nodes > NODES_MAX) return TOO_LARGE;
    if (Array.isArray(value)) {
      // A list in a list is a level too, so that lists alone cannot nest without bound.
      for (const item of value) waiting.push({ value: item, depth: Array.isArray(item) ? depth + 1 : depth });
    } else if (isFacts(value)) {
      for (const item of Object.values(value)) waiting.push({ value: item, depth: depth + 1 });
    }
    if (waiting.length > 10 * NODES_MAX) return TOO_LARGE;
  }
  return undefined;
}
