// evaluate: rules that look back further than the history reaches. In: loaded rules, how long it is kept. Out: these rules, with the paths.
import type { LoadedRule } from '../language/loaded-rule.ts';

export interface BeyondHistory {
  rule: string;
  subject: LoadedRule['subject'];
  facts: string[];
}

/** `previous` looks back as far as there is a history. */
export function rulesBeyondHistory(rules: readonly LoadedRule[], keepMs: number): BeyondHistory[] {
  const isBeyond = ({ lookBack, lookBackMs }: LoadedRule['reads']) =>
    lookBack.size > 0 && (keepMs === 0 || (Number.isFinite(lookBackMs) && lookBackMs > keepMs));
  return rules
    .filter(({ reads }) => isBeyond(reads))
    .map(({ id, subject, reads }) => ({ rule: id, subject, facts: [...reads.lookBack].sort() }));
}
