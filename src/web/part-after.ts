// web: a page of a short list that is read whole. In: the list, and the id of the last row of the page before. Out: a page; nothing comes
// after a row that does not exist.

export function partAfter<T extends { id: string }>(all: readonly T[], after: string | undefined, limit: number) {
  const at = after === undefined ? -1 : all.findIndex(({ id }) => id === after);
  const from = after !== undefined && at === -1 ? all.length : at + 1;
  return { rows: all.slice(from, from + limit), hasMore: all.length > from + limit };
}
