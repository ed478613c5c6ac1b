// cli: all that is known of one subject, for the terminal: one screen. In: what explaining answered. Out: text as wide as the
// terminal; hidden characters are shown.

import { shownName } from '../../base/text.ts';
import { timeText } from '../../base/time.ts';
import { LIFTED_BY_TIME } from '../../domain/decision.ts';
import { exemptionText } from '../../domain/exemption.ts';
import type { Identity } from '../../domain/identity.ts';
import type { ExplainedSubject, Why, WhyAnswer, WhyRule } from '../../domain/why.ts';
import { flipWords } from '../report/fact-text.ts';
import { paragraph, type TerminalOptions } from '../report/terminal-table.ts';
import {
  asOfWords,
  basisWords,
  becauseWords,
  differsWords,
  eventWords,
  explanationText,
  lastRunWords,
  matchingFacts,
  notAskedWords,
  nothingNowWords,
  nowWords,
  rulesInOrder,
  shortStateWords,
  sinceWords,
  stateWords,
  thenWords,
  treeLines,
  verdictWords,
} from '../report/why-words.ts';
import { claimWords } from '../report/words.ts';

// An explanation of one subject for the terminal: the verdict, what would be decided now, what the last run decided,
// and as of when all of it is known.

/** `whatIf`: the folder of the rules, when they are not the active ones. */
export type Explained = ExplainedSubject & { whatIf?: string | undefined };

/** Spaces at the beginning of a line set it in, and what is wrapped of it a little more. */
export function explainedText(explained: Explained, options: TerminalOptions = {}): string {
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
  return lines.flatMap((line) => wrapped(line, options)).join('\n');
}

/** Keeps the spaces at the beginning of a line. */
function wrapped(line: string, { width = 100, ...options }: TerminalOptions): string[] {
  const indent = line.length - line.trimStart().length;
  const [first = '', ...rest] = paragraph(line.slice(indent), { ...options, width: width - indent - 2 }).split('\n');
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

/** The width of the sections' names. */
const LABEL = 11;
const RULES_MAX = 12;
const HISTORY_MAX = 8;

export function whyText(why: WhyAnswer, options: TerminalOptions = {}): string {
  const sections: [label: string, lines: string[]][] = [
    ['AS OF', why.asOf ? asOfWords(why.asOf) : why.unread === undefined ? [`read now, ${time(why.at)}`] : []],
    ['STATE', stateWords(why)],
    ['IN FORCE', claimLines(why)],
    ['EXEMPT', exemptLines(why)],
    ['DEVICES', deviceLines(why)],
    ['RULES', ruleLines(why)],
    ['NEXT', why.next],
    ['COMMANDS', commandLines(why)],
    ['HISTORY', historyLines(why)],
  ];
  return [
    ...headLines(why.subject, options),
    ...sections.flatMap(([label, lines]) => sectionLines(label, lines, options)),
    ...conditionLines(why).flatMap((line) => wrapped(line, options)),
  ].join('\n');
}

function exemptLines({ exemption, joined }: WhyAnswer): string[] {
  if (exemption) return [exemptionText(exemption)];
  return joined ? [`not yet: it joined this later, and waits for a person's yes: ${exemptionText(joined)}`] : [];
}

/** Each line begins at the same column; what is wrapped of it is set in a little more. */
function sectionLines(label: string, lines: readonly string[], { width = 100, ...options }: TerminalOptions): string[] {
  return lines.flatMap((line, at) => {
    const head = (at === 0 ? label : '').padEnd(LABEL);
    const [first = '', ...rest] = paragraph(line, { ...options, width: width - LABEL - 2 }).split('\n');
    return [`${head}${first}`, ...rest.map((more) => `${' '.repeat(LABEL + 2)}${more}`)];
  });
}

function headLines(subject: Identity, options: TerminalOptions): string[] {
  const { kind, id, name, serial, platform, model, owners = [], goneAt } = subject;
  const owned = owners.length > 0 ? [`owned by ${owners.slice(0, 3).map(shownName).join(', ')}`] : [];
  const first = [shownName(name), shownName(serial), ...owned].filter((text) => text !== '').join(', ');
  const gone = goneAt === undefined ? [] : [`GONE from trusted lists since ${time(goneAt)}`];
  const second = [`${kind} ${shownName(id)}`, shownName(platform), shownName(model), ...gone]
    .filter((text) => text !== '')
    .join(', ');
  return [...(first === '' ? [] : [first]), second, ''].flatMap((line) => paragraph(line, options).split('\n'));
}

function claimLines({ claims }: Why): string[] {
  return claims.map(
    ({ action, target, rule, openedAt, status }) =>
      `${action} ${target}, by rule ${rule} since ${time(openedAt)}${status === 'orphaned' ? ` (${claimWords(status).toUpperCase()})` : ''}`,
  );
}

function deviceLines({ devices, subject }: Why): string[] {
  return devices.map(({ identity, states }) => {
    const named = [identity.name, identity.serial, subject.kind === 'user' ? '' : identity.id].map(shownName);
    return [...named, ...states.map(shortStateWords)].filter((text) => text !== '').join(', ');
  });
}

function ruleLines({ rules, at: atMs }: Why): string[] {
  const sorted = rulesInOrder(rules);
  const more = sorted.length - RULES_MAX;
  return [
    ...sorted.slice(0, RULES_MAX).map((rule) => ruleLine(rule, atMs)),
    ...(more > 0 ? [`and ${more} more: \`--format json\` has them`] : []),
  ];
}

function ruleLine(one: WhyRule, atMs: number): string {
  const { rule, of, mode, verdict, reason, flip, decisions } = one;
  const about = of === undefined ? '' : `, about ${shownName(of)}`;
  const why = reason === undefined || verdict === undefined ? '' : `, ${reason}`;
  const facts = matchingFacts(one, atMs);
  const on = facts.length === 0 ? '' : `, ${facts.join(' and ')}`;
  const answers = decisions.map(({ decision, reason, reasonText }) => {
    const skipped = LIFTED_BY_TIME.has(reason) ? 'waits for its time' : 'skipped';
    return decision === 'act' ? '' : `; ${decision === 'hold' ? 'waits' : skipped}: ${reasonText}`;
  });
  return `${rule} (${mode})${about}: ${verdictWords(one)}${why}${on}${[...new Set(answers)].join('')}${flip ? `; ${flipWords(flip, atMs)}` : ''}`;
}

/** Of an answer about an earlier time: each condition with its values then. */
function conditionLines({ rules, at: atMs }: Why): string[] {
  const trees = rulesInOrder(rules)
    .slice(0, RULES_MAX)
    .flatMap(({ rule, tree }) => (tree ? [`  ${rule}`, ...treeLines(tree, 2, atMs)] : []));
  return trees.length === 0 ? [] : ['', 'CONDITIONS, with their values then', ...trees];
}

function commandLines({ commands }: WhyAnswer): string[] {
  return commands.map(({ purpose, command }) => `${purpose}: \`${command}\``);
}

function historyLines({ history }: Why): string[] {
  const more = history.length - HISTORY_MAX;
  return [
    ...history.slice(0, HISTORY_MAX).map(({ at, text, rules, run }) => {
      const by = rules.length === 0 ? '' : ` [${rules.join(', ')}${run === undefined ? '' : `, run ${run}`}]`;
      return `${time(at)}  ${text}${by}`;
    }),
    ...(more > 0 ? [`and ${more} older: \`--format json\` has them`] : []),
  ];
}

function time(ms: number): string {
  return timeText(ms);
}
