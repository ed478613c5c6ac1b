// domain: JSON inside a text: some servers escape it as for a page, and its integers may exceed what a number holds.

const ENTITIES: Record<string, string> = { quot: '"', '#34': '"', '#39': "'", apos: "'", lt: '<', gt: '>', amp: '&' };

export function unescapeHtml(text: string): string {
  return text.replace(/&(quot|#34|#39|apos|lt|gt|amp);/g, (_, name: string) => ENTITIES[name] ?? '');
}

/** Integers of 19 digits stay exact. */
export function exactNumber(digits: string): number | bigint {
  const value = Number(digits);
  return /^-?\d+$/.test(digits) && !Number.isSafeInteger(value) ? BigInt(digits) : value;
}
