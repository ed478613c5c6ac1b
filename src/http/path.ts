// http: whether a path matches that of a route. In: a pattern such as `/api/runs/:id`, and a request's path.

/** Each segment with a colon matches one segment that is not empty. */
export function matchesPath(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((segment, index) => (segment.startsWith(':') ? given[index] !== '' : segment === given[index]))
  );
}
