// commands: an explanation of one subject for the terminal: the verdict, what would be decided now, what the last run decided, and
// as of when all of it is known. In: what explaining answered. Out: text as wide as the terminal; hidden characters are shown.
import type { ExplainedSubject } from '../domain/explanation.ts';
import { timeText } from '../domain/time-text.ts';
import {
  basisWords,
  becauseWords,
  differsWords,
  eventWords,
  lastRunWords,
  notAskedWords,
  nothingNowWords,
  nowWords,
  sinceWords,
  thenWords,
} from '../report/explained-words.ts';
import { explanationText } from '../report/explanation-text.ts';
import { flipWords, paragraph, type TerminalOptions } from '../report/index.ts';

/** `whatIf`: the folder of the rules, when they are not the active ones. */
export type Explained = ExplainedSubject & { whatIf?: string | undefined };

/** Spaces at the beginning of a line set it in, and what is wrapped of it a little more. */
export function explainedText(explained: Explained, { width = 100 }: TerminalOptions = {}): string {
  const { explanation, whatIf } = explained;
  const lines = [
    ...(whatIf === undefined ? [] : [`what-if: by the rules in \`${whatIf}\`, not the active ones`, '']),
    ...explanationText(explanation).split('\n'),
    ...nowLines(explained),
    '',
    ...lastRunLines(explained),
    '',
    ...basisLines(explained),
  ];
  return lines.flatMap((line) => wrapped(line, width)).join('\n');
}

/** Keeps the spaces at the beginning of a line. */
export function wrapped(line: string, width: number): string[] {
  const indent = line.length - line.trimStart().length;
  const [first = '', ...rest] = paragraph(line.slice(indent), { width: width - indent - 2 }).split('\n');
  return [' '.repeat(indent) + first, ...rest.map((more) => ' '.repeat(indent + 2) + more)];
}

function nowLines(explained: Explained): string[] {
  const { explanation, decisions, claims } = explained;
  const checks = notAskedWords(decisions);
  return [
    `DECIDED NOW, for this ${explanation.subject.kind} alone (${timeText(explanation.at)})`,
    ...decisions.flatMap((decision) => [
      `  ${nowWords(decision)}, ${becauseWords(decision)}`,
      `    ${decision.effect.text}`,
    ]),
    ...(decisions.length === 0 ? [`  ${nothingNowWords(explained)}`] : []),
    ...(checks.length === 0 ? [] : [`  not checked, since they take a whole run: ${checks.join(', ')}`]),
    ...claims.map(
      ({ action, target, openedAt }) => `  in force by this rule: ${action} ${target}, since ${timeText(openedAt)}`,
    ),
  ];
}

function lastRunLines(explained: Explained): string[] {
  const { decisions, basis, recorded } = explained;
  const run = lastRunWords(explained);
  if (run === undefined || basis.run === undefined) return [`LAST RUN: ${recorded.none}`];
  const { seq } = basis.run;
  return [
    `LAST RUN of this rule: ${run}`,
    ...recorded.decisions.flatMap((decision) => [
      `  ${thenWords(decision)}, ${becauseWords(decision)}`,
      ...(decision.flip ? [`    ${flipWords(decision.flip, decision.writtenAt)}`] : []),
      `    ${decisions.some(({ effect }) => effect.text === decision.effect.text) ? `${decision.action} ${decision.target}` : decision.effect.text}${sinceWords(decision, seq)}`,
    ]),
    ...(recorded.none === undefined ? [] : [`  nothing: ${recorded.none}`]),
    `  ${differsWords(explained)}`,
  ];
}

function basisLines({ explanation: { subject }, basis: { sources, events } }: Explained): string[] {
  return [
    'AS OF',
    `  this ${subject.kind}: read now`,
    ...sources.map((source) => `  ${basisWords(source)}`),
    ...(events ? [`  ${eventWords(events)}`] : []),
  ];
}
