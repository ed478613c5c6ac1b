// history: the content that a rule's evidence belongs to. In: a loaded rule. Out: its hash without tests and mode, and the hashes that it has
// in each mode: raising the mode keeps the evidence, and any other change ends it.
import { digestOf } from '../../domain/digest.ts';
import { MODES } from '../../domain/mode.ts';
import type { LoadedRule } from '../../evaluate/index.ts';

export interface RuleContent {
  content: string;
  /** `Rule.hash` in each mode, and where its file names none. */
  ruleHashes: string[];
  tests: string;
}

export function contentOf({ raw }: Pick<LoadedRule, 'raw'>): RuleContent {
  const { tests, mode: _, ...meaning } = raw;
  const inModes = MODES.map((mode) => digestOf({ ...meaning, mode }));
  const content = digestOf(meaning);
  return { content, ruleHashes: [content, ...inModes], tests: digestOf(tests ?? []) };
}
