// The last good rules of each organization, in a process that opens one anew for each job. In: an organization, and what its rules are loaded
// with. Out: what one holder of its rules leaves to the next. INVARIANT: rules as they were read, and nothing that was observed by them: other
// processes read the events between two jobs.
import type { LoadedRule } from '../evaluate/index.ts';

export interface KeptRules {
  /** Undefined: this process has not seen a good set yet. */
  set: { rules: readonly LoadedRule[]; hash: string } | undefined;
  /** What was wrong with the folder when last loaded. */
  refused: string | undefined;
  /** What the audit has of that; undefined: it was not looked at. */
  audited: { refused: string | undefined } | undefined;
}

export class LastGoodRules {
  private readonly kept = new Map<string, { loadedWith: string; rules: KeptRules }>();

  /** Other folders, actions or lists begin without a good set, as a process that starts with them does. */
  of(organization: string, loadedWith: readonly unknown[]): KeptRules {
    const key = JSON.stringify(loadedWith);
    const known = this.kept.get(organization);
    if (known?.loadedWith === key) return known.rules;
    const rules: KeptRules = { set: undefined, refused: undefined, audited: undefined };
    this.kept.set(organization, { loadedWith: key, rules });
    return rules;
  }
}
