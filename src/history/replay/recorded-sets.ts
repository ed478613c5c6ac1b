// history: the rule sets of the replayed time, each compiled when a run first has it. In: recorded runs. Out: their rules, or why there are none.
// Two sets that take turns are compiled once.
import { type ActionName, type ActionTraits, fieldsWritten } from '../../domain/action.ts';
import type { HistoryReader, RecordedRuleSet, RecordedRun } from '../../domain/recorded-history.ts';
import { factsOf, type WantedFacts } from './read-on.ts';
import { type RulesAgain, recordedRules, rulesAgain } from './rules-again.ts';

export interface RecordedRules {
  rules: RulesAgain;
  /** What this version cannot read of them. */
  problems: readonly string[];
  wanted: WantedFacts;
}

export class RecordedSets {
  private readonly files = new Map<string, RecordedRuleSet>();
  private readonly compiled = new Map<string, RecordedRules>();

  constructor(
    private readonly reader: Pick<HistoryReader, 'ruleSet'>,
    private readonly traits: ReadonlyMap<ActionName, ActionTraits>,
  ) {}

  async of({ frame, ruleSet }: RecordedRun): Promise<RecordedRules> {
    const { ruleSetHash: hash } = frame.run;
    const { lists } = frame.settings;
    if (ruleSet) this.files.set(ruleSet.hash, ruleSet);
    const key = `${lists} ${hash}`;
    const known = this.compiled.get(key);
    if (known) return known;
    const files = this.files.get(hash) ?? (await this.reader.ruleSet(hash));
    const made = files
      ? recordedRules(files, this.traits, lists)
      : { rules: rulesAgain([], hash, lists), problems: [`the rule set ${hash.slice(0, 12)} is not in the record`] };
    const wanted = factsOf(made.rules.rules, (kind) => fieldsWritten(this.traits, kind));
    this.compiled.set(key, { ...made, wanted });
    return { ...made, wanted };
  }
}
