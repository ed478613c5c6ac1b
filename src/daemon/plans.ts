// The daemon's part of answering plans for the endpoint: each answer in its turn among runs and other commands. In: turns. Out: the plan as
// answered, and what applying it did. A daemon of mode `approve` or `enforce` applies an approved plan at once, unless a stop or a change
// window holds all of it.
import type { HttpDeps } from '../http/index.ts';
import type { Turns } from './operations.ts';

export function planPorts(turns: Turns): HttpDeps['plans'] {
  return {
    approve: (planId, by, ...said) => turns.operate('approve', by, planId, by, ...said),
    reject: (planId, by, ...said) => turns.operate('reject', by, planId, by, ...said),
    apply: (planId, by, ...said) => turns.operate('apply', by, planId, by, ...said),
  };
}
