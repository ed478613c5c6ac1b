// The daemon's part of answering plans for the endpoint: each answer in its turn among runs and other commands. In: turns. Out: the plan as
// answered, and what applying it did. A daemon of mode `approve` or `enforce` applies an approved plan at once, unless a stop or a change
// window holds all of it.
import type { HttpDeps } from '../http/index.ts';
import type { Turns } from './operations.ts';

export function planPorts(turns: Turns): HttpDeps['plans'] {
  return {
    approve: (plan, by, reason, { rules, only, except, keys }, breakGlass) => {
      const part = { rules: [...rules], only: [...only], except: [...except], keys: keys && [...keys] };
      return turns.operate('approve', { plan, by, reason, part, breakGlass });
    },
    reject: (plan, by, reason) => turns.operate('reject', { plan, by, reason }),
    apply: (plan, by, breakGlass) => turns.operate('apply', { plan, by, breakGlass }),
  };
}
