// report: a comparison of two rule sets in words, for its writers. In: the comparison as a document. Out: plain text that may hold hostile
// names: each writer escapes it.
import { clip, NAME_MAX } from '../../domain/clip.ts';
import { countText, plural } from '../fact-text.ts';
import { gapsWords, unreadWords, untrustedWords } from '../replay/words.ts';
import { timeWords } from '../time-words.ts';
import type { RulesDiffDocument } from './document.ts';

export function diffHeadline({ old, new: changed }: Pick<RulesDiffDocument, 'old' | 'new'>): string {
  return `Trustward: rules in ${clip(changed, NAME_MAX)} compared with ${clip(old, NAME_MAX)}`;
}

/** What was compared, and what stands in the way. */
export function diffSummary(found: RulesDiffDocument): string[] {
  const { now, runs, from, to, rules, neverRecorded } = found;
  const lost = neverRecorded.slice(0, 5).map(({ path }) => clip(path, NAME_MAX));
  const gaps = gapsWords(found);
  const untrusted = untrustedWords({ ...found, way: 'what_if' });
  return [
    ...(rules.length === 0 ? [] : [`${plural(rules.length, 'rule')} ${rules.length === 1 ? 'differs' : 'differ'}.`]),
    ...(now === null ? [] : [`Now: as recorded at ${timeWords(now)}.`]),
    ...(runs === 0
      ? []
      : [
          `Over the recorded time: ${plural(runs, 'run')}, ${timeWords(from)} to ${timeWords(to)}, both sets as a what-if.`,
        ]),
    ...(untrusted === undefined ? [] : [untrusted]),
    ...(gaps === undefined ? [] : [gaps]),
    ...(lost.length === 0
      ? []
      : [
          `NEVER RECORDED, so unknown all the time: ${lost.join(', ')}${neverRecorded.length > lost.length ? ` and ${countText(neverRecorded.length - lost.length)} more` : ''}.`,
        ]),
    ...unreadWords(found),
    ...found.notes,
  ];
}
