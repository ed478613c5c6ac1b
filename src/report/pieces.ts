// report: a report in pieces, so that whoever writes it can give way between them. In: parts that are made when their
// turn comes. Out: their pieces in order; an empty piece is work without text.

/** Parts without text are left out. */
export function* joinedParts(parts: Iterable<Iterable<string>>, between: string): Generator<string> {
  let isFirst = true;
  for (const part of parts) {
    let hasBegun = false;
    for (const piece of part) {
      if (piece !== '' && !hasBegun) {
        if (!isFirst) yield between;
        hasBegun = true;
        isFirst = false;
      }
      yield piece;
    }
  }
}

/** Each item's part, made when its turn comes. */
export function* eachOf<T>(items: Iterable<T>, make: (item: T) => Iterable<string>): Generator<Iterable<string>> {
  for (const item of items) yield make(item);
}

/** A part of one piece. */
export function* piece(make: () => string): Generator<string> {
  yield make();
}
