// http: whether a path matches that of a route, and whom it is for. In: a pattern such as `/api/runs/:id`, and a request's path.

const FOR_MACHINES = /^\/(api|healthz|readyz|metrics|openapi\.json)(\/|$)/;

/** The other paths are pages for people, when there are pages. */
export function isForMachines(path: string): boolean {
  return FOR_MACHINES.test(path);
}

/** A file that pages load, which is for anybody: who asks does not matter, and need not be known. */
export function isAsset(path: string): boolean {
  return path.startsWith('/assets/');
}

export const METRICS_PATH = '/metrics';

/** Where a bearer token is needed, and no session counts. */
export function isWithToken(path: string): boolean {
  return isUnderApi(path) || path === METRICS_PATH;
}

export function isUnderApi(path: string): boolean {
  return path === '/api' || path.startsWith('/api/');
}

export const OPENAPI_PATH = '/openapi.json';

/** The one answer under `/api` that a session opens as well: a browser sends no header of ours with it. */
export const STREAM_PATH = '/api/stream';

/** Each segment with a colon matches one segment that is not empty. */
export function matchesPath(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((segment, index) => (segment.startsWith(':') ? given[index] !== '' : segment === given[index]))
  );
}
