// http: what the endpoint needs of the page for people: its routes, and how it shows an error. src/web builds it. The page knows
// the endpoint, and the endpoint knows no page: without one, every error is problem details.
import type { Problem } from './problem.ts';
import type { Ctx, Route } from './route.ts';

export interface Pages {
  /**
   * Outside of `/api`. With a scope, only a session opens them: without one a GET leads to `/sign-in?to=…`, and a POST is Problem
   * 401. Every POST needs our own Origin, also one without a scope.
   */
  routes: readonly Route[];
  /** Shows an error, which may quote hostile text. On a path of no page too, and before the caller is known. */
  problem(problem: Problem, context: Ctx): Promise<Response> | Response;
}
