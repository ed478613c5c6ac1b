// report: the tables of a replay, for all its writers: by rule, what was done, what was held, what could not be judged, gaps, differences.
// In: a replay as a document. Out: tables of plain lines that may hold hostile names: each writer escapes them. Long ones are cut.
import { spanText } from '../../domain/age-text.ts';
import type { GapCause } from '../../domain/recorded-history.ts';
import { countText } from '../fact-text.ts';
import { type CellLine, whole } from '../marked.ts';
import { timeCell } from '../time-words.ts';
import { whoLine, whoLines } from '../who.ts';
import type { ReplayDocument, ReplayHeldView, ReplayRuleView, ReplaySubject } from './document.ts';
import { allowedInRun, differenceWords, followedLines, lastedWords, missingLines, mostLines } from './words.ts';

export interface ReplayCell {
  lines: readonly CellLine[];
  /** Whom it is about: a page links to it. */
  subject?: ReplaySubject;
}

export interface ReplayTable {
  id: 'rules' | 'acts' | 'held' | 'unknown' | 'gaps' | 'differences';
  title: string;
  columns: readonly { head: string; isNumber?: boolean }[];
  rows: readonly (readonly ReplayCell[])[];
  /** Of all, also those that are not shown. */
  total: number;
}

const NAMES_MAX = 5;
const number = (head: string) => ({ head, isNumber: true });
const cell = (...lines: CellLine[]): ReplayCell => ({ lines });
const text = (head: string) => ({ head });

/** Those that have rows, the most important first. `rowsMax`: of each. */
export function replayTables(replay: ReplayDocument, rowsMax: number): ReplayTable[] {
  const tables = [
    rulesTable(replay),
    differencesTable(replay),
    actsTable(replay, rowsMax),
    heldTable(replay, rowsMax),
    unknownTable(replay),
    gapsTable(replay),
  ];
  return tables.filter(({ total }) => total > 0).map((table) => ({ ...table, rows: table.rows.slice(0, rowsMax) }));
}

function rulesTable({ rules }: ReplayDocument): ReplayTable {
  return {
    id: 'rules',
    title: 'By rule',
    columns: [
      text('Rule'),
      number('Matched'),
      number('Acted'),
      text('Most in a run'),
      text('Most in 24 h'),
      number('Undone within 1 h'),
      text('Lasted'),
      text('People'),
      number('Unknown'),
    ],
    rows: rules.map((rule) => [
      cell(whole(rule.id), rule.title),
      cell(countText(rule.matches)),
      cell(countText(rule.acts)),
      cell(...mostLines(rule.mostInRun, allowedInRun(rule), rule.mostInRunAt), ...targetLines(rule)),
      cell(...mostLines(rule.mostInDay, rule.allowed?.day, rule.mostInDayAt)),
      cell(countText(rule.flaps)),
      cell(lastedWords(rule)),
      cell(...peopleLines(rule)),
      cell(countText(rule.unknown)),
    ]),
    total: rules.length,
  };
}

/** Where more were asked for than were done. */
function targetLines({ mostTargets, mostInRun, allowed }: ReplayRuleView): string[] {
  if (mostTargets <= mostInRun) return [];
  return [
    `up to ${countText(mostTargets)} at once${allowed && mostTargets > allowed.limits ? `, limit ${countText(allowed.limits)}` : ''}`,
  ];
}

function peopleLines({ personDid, personUndid }: ReplayRuleView): string[] {
  return [
    ...(personDid === 0 ? [] : [`${countText(personDid)} done anyway`]),
    ...(personUndid === 0 ? [] : [`${countText(personUndid)} taken back`]),
  ];
}

/** Without undos, whose actions say how long they lasted; but with those of actions from before the replay. */
function actsTable({ acts, way, rules }: ReplayDocument, rowsMax: number): ReplayTable {
  const done = new Set<string>();
  const shown = acts.filter(({ undo, rule, target }) => {
    if (!undo) done.add(`${rule} ${target}`);
    return !undo || !done.has(`${rule} ${target}`);
  });
  const isOne = rules.length === 1 && new Set(shown.map(({ action }) => action)).size <= 1;
  const by = isOne && shown[0] ? `: ${shown[0].action}` : '';
  return {
    id: 'acts',
    title: `${way === 'what_if' ? 'What it would have done' : 'What was done'}${by}`,
    columns: [
      text('When'),
      ...(isOne ? [] : [text('Rule and action')]),
      text('Who'),
      text('Target'),
      text('What followed'),
    ],
    rows: shown
      .slice(0, rowsMax)
      .map((act) => [
        cell(timeCell(act.at)),
        ...(isOne ? [] : [cell(whole(act.rule), act.action)]),
        { lines: nameLines(act.subject, act.target), subject: act.subject },
        cell(...(act.target === act.subject.id ? [] : [whole(act.target)])),
        cell(...followedLines(act)),
      ]),
    total: shown.length,
  };
}

/** The target stands beside it: an id is shown only where there is no name. */
function nameLines(subject: ReplaySubject, target: string): CellLine[] {
  const isNamed = subject.name !== '' && subject.name !== subject.id;
  const lines = whoLines(subject);
  return isNamed && target !== subject.id ? lines.slice(0, -1) : lines;
}

/** A row for each target that is known, or for the whole reason when none is. */
function heldTable({ rules, way }: ReplayDocument, rowsMax: number): ReplayTable {
  const all = rules.flatMap((rule) => rule.held.map((held) => ({ rule: rule.id, held })));
  return {
    id: 'held',
    title: way === 'what_if' ? 'What would have been held or skipped' : 'What was held or skipped',
    columns: [text('Rule'), text('Reason'), number('Targets'), text('Who, the first ones')],
    rows: all
      .slice(0, rowsMax)
      .map(({ rule, held }) => [
        cell(whole(rule)),
        cell(`${held.decision}: ${held.reasonText}`),
        cell(countText(held.targets)),
        cell(...exampleLines(held)),
      ]),
    total: all.length,
  };
}

function exampleLines({ examples, targets }: ReplayHeldView): CellLine[] {
  if (examples.length === 0) return [];
  const shown = examples.slice(0, NAMES_MAX).map(({ subject }) => whoLine(subject));
  const more = targets - shown.length;
  return [...shown, ...(more > 0 ? [`and ${countText(more)} more`] : [])];
}

function unknownTable({ rules }: ReplayDocument): ReplayTable {
  const unknown = rules.filter((rule) => rule.unknown > 0);
  return {
    id: 'unknown',
    title: 'What could not be judged',
    columns: [text('Rule'), number('Subjects'), text('Missing facts')],
    rows: unknown.map((rule) => [cell(whole(rule.id)), cell(countText(rule.unknown)), cell(...missingLines(rule))]),
    total: unknown.length,
  };
}

const CAUSES: Record<GapCause, string> = {
  not_recorded: 'not recorded',
  damaged: 'damaged',
  foreign: 'not of Trustward',
  version: 'another version',
  forgotten: 'a person forgotten',
};

function gapsTable(replay: ReplayDocument): ReplayTable {
  return {
    id: 'gaps',
    title: 'What is not in the record',
    columns: [text('From'), text('To'), text('Length'), text('Cause'), text('Which')],
    rows: replay.gaps.map(({ from, to, cause, text: which }) => [
      cell(timeCell(from)),
      cell(timeCell(to)),
      cell(spanText(Date.parse(to) - Date.parse(from))),
      cell(CAUSES[cause]),
      cell(which),
    ]),
    total: replay.gaps.length,
  };
}

/** Those that nothing explains come first. */
function differencesTable(replay: ReplayDocument): ReplayTable {
  const all = [...replay.differences].sort((one, other) => Number(one.explained) - Number(other.explained));
  return {
    id: 'differences',
    title: 'Otherwise than the runs decided',
    columns: [text('When'), text('Rule'), text('Target'), text('The run'), text('The replay'), text('Reason')],
    rows: all.map((one) => [
      cell(timeCell(one.at), `run ${one.run}`),
      cell(whole(one.rule)),
      cell(whole(one.target)),
      cell(differenceWords(one).was),
      cell(differenceWords(one).is),
      cell(...(one.explained ? [] : ['UNEXPLAINED']), one.reason),
    ]),
    total: all.length,
  };
}

/** What stands under a table that was cut. */
export function leftWords({ rows, total }: ReplayTable): string | undefined {
  const left = total - rows.length;
  return left > 0 ? `and ${countText(left)} more: the JSON form has them all` : undefined;
}
