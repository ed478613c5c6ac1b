// web: what differs between two texts, line by line. In: the lines of both. Out: hunks with a few lines around each change. Pure. Texts that
// differ in very many lines are shown as one replaced by the other.

export interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

export interface Hunk {
  /** The first line in each text, from 1. */
  before: number;
  after: number;
  lines: DiffLine[];
}

const AROUND = 3;
/** Pairs of lines that are compared: some ten milliseconds. */
const PAIRS_MAX = 2_000_000;

export function diffLines(before: readonly string[], after: readonly string[]): Hunk[] {
  return hunksOf(allLines(before, after));
}

function allLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const same = (lines: readonly string[]) => lines.map((text): DiffLine => ({ kind: 'same', text }));
  return [
    ...same(before.slice(0, head)),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

function middle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (before.length * after.length > PAIRS_MAX) return [...before.map(removed), ...after.map(added)];
  const common = commonLengths(before, after);
  const width = after.length + 1;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [one, other] = [before[i], after[j]];
    if (one !== undefined && one === other) {
      lines.push({ kind: 'same', text: one });
      [i, j] = [i + 1, j + 1];
    } else if (one !== undefined && (other === undefined || lengthAt(i + 1, j) >= lengthAt(i, j + 1))) {
      lines.push(removed(one));
      i += 1;
    } else {
      lines.push(added(other as string));
      j += 1;
    }
  }
  return lines;

  function lengthAt(row: number, column: number): number {
    return common[row * width + column] ?? 0;
  }
}

/** How many lines the rests of both texts have in common, in order: at `i * (after.length + 1) + j` those from `i` and `j` on. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const below = (i + 1) * width + j;
      lengths[i * width + j] =
        before[i] === after[j]
          ? (lengths[below + 1] as number) + 1
          : Math.max(lengths[below] as number, lengths[i * width + j + 1] as number);
    }
  }
  return lengths;
}

function hunksOf(all: readonly DiffLine[]): Hunk[] {
  const hunks: Hunk[] = [];
  let open: Hunk | undefined;
  let lastChange = Number.NEGATIVE_INFINITY;
  let [before, after] = [1, 1];
  const changes = all.flatMap(({ kind }, at) => (kind === 'same' ? [] : [at]));
  let next = 0;
  for (const [at, line] of all.entries()) {
    for (; next < changes.length && (changes[next] as number) <= at; next += 1) lastChange = changes[next] as number;
    const isNear = at - lastChange <= AROUND || (changes[next] ?? Number.POSITIVE_INFINITY) - at <= AROUND;
    if (!isNear) open = undefined;
    else if (open) open.lines.push(line);
    else {
      open = { before, after, lines: [line] };
      hunks.push(open);
    }
    if (line.kind !== 'added') before += 1;
    if (line.kind !== 'removed') after += 1;
  }
  return hunks;
}
