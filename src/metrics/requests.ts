// metrics: the requests that an endpoint answered. In: one request. Out: it is counted, by the pattern of its route.
import type { Metrics } from './registry.ts';

/** One answered request of the endpoint. */
export interface AnsweredRequest {
  method: string;
  /** The pattern of the route; undefined when none matched. */
  route: string | undefined;
  status: number;
  ms: number;
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function countAnswered(metrics: Metrics, { method, route = '(none)', status, ms }: AnsweredRequest): void {
  const known = METHODS.has(method) ? method : '(other)';
  metrics.count('trustward_http_requests_total', { method: known, route, status: String(status) });
  metrics.observe('trustward_http_request_duration_seconds', { route }, ms / 1_000);
}
