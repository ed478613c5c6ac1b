// commands: all that is known of one subject, for the terminal: one screen. In: what explaining answered. Out: text as wide as the
// terminal; hidden characters are shown.
import { shownName } from '../domain/clip.ts';
import { exemptionText } from '../domain/exemption.ts';
import type { Identity } from '../domain/identity.ts';
import { timeText } from '../domain/time-text.ts';
import type { Why, WhyAnswer, WhyRule } from '../explain/why-answer.ts';
import type { TargetState } from '../explain/why-state.ts';
import { factTexts, flipWords, paragraph, type TerminalOptions } from '../report/index.ts';

/** The width of the sections' names. */
const LABEL = 11;
const RULES_MAX = 12;
const HISTORY_MAX = 8;

export function whyText(why: WhyAnswer, { width = 100 }: TerminalOptions = {}): string {
  const sections: [label: string, lines: string[]][] = [
    ['STATE', stateLines(why)],
    ['IN FORCE', claimLines(why)],
    ['EXEMPT', why.exemption ? [exemptionText(why.exemption)] : []],
    ['DEVICES', deviceLines(why)],
    ['RULES', ruleLines(why)],
    ['NEXT', why.next],
    ['COMMANDS', commandLines(why)],
    ['HISTORY', historyLines(why)],
  ];
  return [
    ...headLines(why.subject, width),
    ...sections.flatMap(([label, lines]) => sectionLines(label, lines, width)),
  ].join('\n');
}

/** Each line begins at the same column; what is wrapped of it is set in a little more. */
function sectionLines(label: string, lines: readonly string[], width: number): string[] {
  return lines.flatMap((line, at) => {
    const head = (at === 0 ? label : '').padEnd(LABEL);
    const [first = '', ...rest] = paragraph(line, { width: width - LABEL - 2 }).split('\n');
    return [`${head}${first}`, ...rest.map((more) => `${' '.repeat(LABEL + 2)}${more}`)];
  });
}

function headLines(subject: Identity, width: number): string[] {
  const { kind, id, name, serial, platform, model, owners = [], goneAt } = subject;
  const owned = owners.length > 0 ? [`owned by ${owners.slice(0, 3).map(shownName).join(', ')}`] : [];
  const first = [shownName(name), shownName(serial), ...owned].filter((text) => text !== '').join(', ');
  const gone = goneAt === undefined ? [] : [`GONE from trusted lists since ${time(goneAt)}`];
  const second = [`${kind} ${shownName(id)}`, shownName(platform), shownName(model), ...gone]
    .filter((text) => text !== '')
    .join(', ');
  return [...(first === '' ? [] : [first]), second, ''].flatMap((line) => paragraph(line, { width }).split('\n'));
}

function stateLines({ states, unread, subject }: Why): string[] {
  const lines = states.flatMap(stateOf);
  if (unread !== undefined) lines.push(`it could not be read now: ${unread}`);
  if (lines.length === 0) lines.push(`a ${subject.kind} has no state of its own that Trustward changes`);
  return lines;
}

function stateOf(state: TargetState): string[] {
  const { text, target, isSo, last, isOwn } = state;
  if (isSo === undefined) return [`whether it is ${text} could not be read now`, ...lastWords(state)];
  const now = isSo ? text.toUpperCase() : `not ${text}`;
  if (!isOwn && !last) return [isSo ? `${now}, but not by Trustward: somebody else did it` : now];
  if (!isOwn)
    return [`${now}: somebody else changed it after Trustward's last action on ${target}`, ...lastWords(state)];
  return [now, ...lastWords(state)];
}

/** Who did it, when, and on which facts. */
function lastWords({ last }: TargetState): string[] {
  if (!last) return [];
  const { intent, runSeq, approvedBy } = last;
  const rules = [...new Set(intent.basis.map(({ rule }) => rule))].join(', ');
  const run = runSeq === undefined ? '' : ` in run ${runSeq}`;
  const who = intent.released
    ? 'at an operator’s request'
    : `by rule ${rules}${run}${approvedBy === undefined ? '' : `, approved by ${approvedBy}`}`;
  const at = intent.settledAt === undefined ? '' : `, ${time(intent.settledAt)}`;
  const facts = [
    ...new Set(intent.basis.flatMap((basis) => factTexts(basis.facts, intent.settledAt ?? intent.createdAt))),
  ];
  const because = facts.length === 0 || intent.undo ? [] : [`because ${facts.join(' and ')}`];
  return [`${intent.action} ${intent.target}: ${intent.outcome}${at}, ${who}`, ...because];
}

function claimLines({ claims }: Why): string[] {
  return claims.map(
    ({ action, target, rule, openedAt, status }) =>
      `${action} ${target}, by rule ${rule} since ${time(openedAt)}${status === 'orphaned' ? ' (ORPHANED)' : ''}`,
  );
}

function deviceLines({ devices, subject }: Why): string[] {
  return devices.map(({ identity, states }) => {
    const named = [identity.name, identity.serial, subject.kind === 'user' ? '' : identity.id].map(shownName);
    const state = states.map(({ text, isSo }) =>
      isSo === undefined ? 'state unknown' : isSo ? text.toUpperCase() : `not ${text}`,
    );
    return [...named, ...state].filter((text) => text !== '').join(', ');
  });
}

/** Those that say something first. */
const ORDER = { match: 0, unknown: 1, error: 1, no_match: 2 } as const;

function ruleLines({ rules, atMs }: Why): string[] {
  const sorted = [...rules].sort((a, b) => ORDER[a.verdict ?? 'unknown'] - ORDER[b.verdict ?? 'unknown']);
  const more = sorted.length - RULES_MAX;
  return [
    ...sorted.slice(0, RULES_MAX).map((rule) => ruleLine(rule, atMs)),
    ...(more > 0 ? [`and ${more} more: \`--format json\` has them`] : []),
  ];
}

const VERDICTS = { match: 'MATCHES', no_match: 'does not match', unknown: 'is unknown', error: 'failed' } as const;

function ruleLine({ rule, mode, verdict, reason, flip, decisions }: WhyRule, atMs: number): string {
  const head = `${rule} (${mode}): ${verdict === undefined ? 'not judged' : VERDICTS[verdict]}`;
  const why = reason === undefined || verdict === undefined ? '' : `, ${reason}`;
  const facts = verdict === 'match' ? [...new Set(decisions.flatMap((one) => factTexts(one.facts, atMs)))] : [];
  const on = facts.length === 0 ? '' : `, ${facts.join(' and ')}`;
  const answers = decisions.map(({ decision, reasonText }) =>
    decision === 'act' ? '' : `; ${decision === 'hold' ? 'held' : 'skipped'}: ${reasonText}`,
  );
  return `${head}${why}${on}${answers.join('')}${flip ? `; ${flipWords(flip, atMs)}` : ''}`;
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
