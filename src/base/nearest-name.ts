// base: suggests a name for a misspelt one. In: what was written, and the names that there are. Out: the nearest ones, or none.

/** The candidate nearest to `written`, ignoring case; undefined when none is near enough. */
export function nearestName(written: string, candidates: Iterable<string>): string | undefined {
  if (written.length > 200) return undefined;
  const lower = written.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(written.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - written.length) >= bestDistance) continue;
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The candidate that differs in case, spaces, signs or one letter in five, and in no digit; undefined for itself, and when none does. */
export function sameButSpelling(written: string, candidates: readonly string[]): string | undefined {
  if (candidates.includes(written) || written.length > 200) return undefined;
  const plain = (text: string) => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  const digits = (text: string) => text.replaceAll(/\D/g, '');
  const own = plain(written);
  const isNear = (other: string) => {
    const most = Math.floor(Math.min(own.length, other.length) / 5);
    const isAsLong = Math.abs(own.length - other.length) <= most;
    return isAsLong && digits(other) === digits(own) && editDistance(own, other) <= most;
  };
  return candidates.find((each) => plain(each) === own) ?? candidates.find((each) => isNear(plain(each)));
}

/** "; did you mean `x`?", or nothing. */
export function didYouMean(written: string, candidates: Iterable<string>): string {
  const nearest = nearestName(written, candidates);
  return nearest === undefined ? '' : `; did you mean \`${nearest}\`?`;
}

/** All of them: the nearest, then those that the written text is a part of, then the others in their order. */
export function nearestFirst(written: string, names: readonly string[]): string[] {
  const lower = written.toLowerCase();
  const nearest = nearestName(written, names);
  const rank = (name: string) => (name === nearest ? 0 : lower !== '' && name.toLowerCase().includes(lower) ? 1 : 2);
  return [...names].sort((one, other) => rank(one) - rank(other));
}

/** Insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (beforePrevious[j - 2] ?? 0) + 1);
      }
      row.push(least);
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[b.length] ?? 0;
}
