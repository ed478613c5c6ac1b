// commands: an explanation of one subject for the terminal: the tree and the facts, the decision, and the age of what
// was not read now. In: the explanation. Out: text; hidden characters of hostile names are shown.

import { SOURCE_OF, type Source } from '../domain/subjects.ts';
import { isoTime } from '../domain/time-text.ts';
import { explanationText } from '../evaluate/index.ts';
import type { ExplainBasis } from '../explain/explain-basis.ts';
import type { ExplainedSubject } from '../explain/explain-subject.ts';
import { showHidden } from '../report/index.ts';

/** `whatIf`: the folder of the rules, when they are not the active ones. */
export type Explained = ExplainedSubject & { whatIf?: string | undefined };

export function explainedText({ explanation, decisions, basis, whatIf }: Explained): string {
  const lines = decisions.map(
    ({ action, target, decision, reason, reasonText, mode, effect }) =>
      `  ${decision} (${reason}): ${reasonText}\n    ${action} ${target}, mode ${mode}: ${effect.text}`,
  );
  const none = ['  nothing: only a match, or a problem we acted on that has ended, leads to a decision'];
  const text = [
    ...(whatIf === undefined ? [] : [`what-if: by the rules in \`${whatIf}\`, not the active ones`, '']),
    `${explanationText(explanation)}\ndecide would say`,
    ...(lines.length > 0 ? lines : none),
    '',
    ...basisLines(basis, SOURCE_OF[explanation.subject.kind]),
  ].join('\n');
  return text.split('\n').map(showHidden).join('\n');
}

function basisLines({ run, sources, events }: ExplainBasis, list: Source): string[] {
  return [
    'the subject was read now; everything else is from the last run',
    ...(run
      ? [
          `  run ${run.seq}, ${isoTime(run.atMs)}: ${run.match} of ${run.subjects} ${list} matched${run.wasEdited ? ', by the rule before its last edit' : ''}`,
        ]
      : ['  no run has judged this rule yet: limits, owners and ceilings count this subject alone']),
    ...sources.map((source) => `  ${sourceLine(source)}`),
    ...(events ? eventLines(events) : []),
  ];
}

function sourceLine({ source, seq, state, trusted, reasons }: ExplainBasis['sources'][number]): string {
  if (state === 'read' && trusted) return `${source}: trusted in run ${seq}`;
  const what = { read: 'NOT TRUSTED', unavailable: 'not available (403)', failed: 'could not be read', skipped: '' };
  return `${source}: ${what[state]} in run ${seq}: ${reasons.join('; ')}`;
}

function eventLines({ state, trusted, atMs, reasons }: NonNullable<ExplainBasis['events']>): string[] {
  const why = reasons.join('; ');
  if (state === 'read') return trusted ? [] : [`  events: NOT TRUSTED: ${why}`];
  if (state === 'unavailable') return [`  events: not available (403): ${why}`];
  const known = atMs === undefined ? 'and never were' : `so windows end at ${isoTime(atMs)}, when they last were`;
  return [`  events cannot be read now, ${known}: ${why}`];
}
