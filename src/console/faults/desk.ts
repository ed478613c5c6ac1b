// console faults: which faults are set, and which of them affect a request. In: a plan, then requests. Out: the faults
// of each request, in the plan's order. Its choices repeat with the plan's seed.

import { type Choices, choicesFrom } from '../seed/random.ts';
import { type Fault, FaultPlan, type FaultPlanInput } from './fault.ts';

export interface FaultStatus {
  fault: Fault;
  /** How many requests matched, and how many of them it affected. */
  matched: number;
  fired: number;
}

interface ActiveFault extends FaultStatus {
  choices: Choices;
}

export interface FaultDesk {
  /** Replaces the current faults. Throws a ZodError for an invalid plan. */
  set(plan: FaultPlanInput): void;
  clear(): void;
  status(): FaultStatus[];
  /** `address` is path and query. */
  befalling(method: string, address: string): Fault[];
}

/** `onChange` receives whether any active fault makes reads lag behind. */
export function openFaultDesk(onChange: (hasStaleReads: boolean) => void): FaultDesk {
  let active: ActiveFault[] = [];

  function set(input: FaultPlanInput): void {
    const plan = FaultPlan.parse(input);
    const { seed, faults } = Array.isArray(plan) ? { seed: 1, faults: plan } : plan;
    active = faults.map((fault, index) => ({
      fault,
      matched: 0,
      fired: 0,
      choices: choicesFrom(seed * 1_009 + index),
    }));
    onChange(faults.some((fault) => fault.kind === 'stale_read'));
  }

  return {
    set,
    clear: () => set([]),
    status: () => active.map(({ fault, matched, fired }) => ({ fault, matched, fired })),
    befalling: (method, address) => active.filter((each) => fires(each, method, address)).map((each) => each.fault),
  };
}

function fires(active: ActiveFault, method: string, address: string): boolean {
  const { fault } = active;
  if (!matches(fault, method, address)) return false;
  active.matched++;
  if (active.matched <= fault.skip) return false;
  if (fault.times !== undefined && active.fired >= fault.times) return false;
  if (!active.choices.chance(fault.rate)) return false;
  active.fired++;
  return true;
}

function matches(fault: Fault, method: string, address: string): boolean {
  const { method: wanted, path } = fault.match;
  if (wanted && wanted !== method) return false;
  if (path === undefined) return true;
  return path.startsWith('^') ? new RegExp(path).test(address) : address.startsWith(path);
}
