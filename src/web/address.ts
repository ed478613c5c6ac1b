// web: the address of a page with its filters. In: a path, and what is filtered by. Out: an address; what is not given is not in it.

export type Filters = Readonly<Record<string, string | number | undefined>>;

export function addressOf(path: string, filters: Filters = {}): string {
  const given = Object.entries(filters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
