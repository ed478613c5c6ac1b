// report: decisions as CSV (RFC 4180, UTF-8 without a mark at its beginning), one row each, for spreadsheets. In: decisions. Out: pieces.
// INVARIANT: no cell is a formula, whoever chose its text, and no character in it is hidden. The names of columns are stable: new ones
// are added at the end.
import { plainJson } from '../../base/json.ts';
import type { Report, ReportDecision, RunDecision } from '../../contract/report.ts';
import { showHidden } from './fact-text.ts';

type Row = ReportDecision & Partial<Pick<RunDecision, 'change' | 'inPlan'>>;

const COLUMNS: CsvColumns<Row> = {
  decision_id: ({ id }) => id,
  rule: ({ rule }) => rule,
  subject_kind: ({ subject }) => subject.kind,
  subject_id: ({ subject }) => subject.id,
  subject_name: ({ subject }) => subject.name,
  serial_number: ({ subject }) => subject.serial,
  owners: ({ subject }) => subject.owners?.join('; ') ?? null,
  verdict: ({ verdict }) => verdict,
  since: ({ since }) => since,
  decision: ({ decision }) => decision,
  reason: ({ reason }) => reason,
  reason_text: ({ reasonText }) => reasonText,
  action: ({ action }) => action,
  target: ({ target }) => target,
  effect: ({ effect }) => effect.text,
  devices: ({ effect }) => effect.devices.length,
  mode: ({ mode }) => mode,
  capped_by: ({ cappedBy }) => cappedBy,
  outcome: ({ outcome }) => outcome,
  outcome_text: ({ outcomeText }) => outcomeText,
  facts: ({ facts }) => JSON.stringify(plainJson(facts)),
  written_by_run: ({ runSeq }) => runSeq,
  written_at: ({ writtenAt }) => writtenAt,
  change: ({ change }) => change ?? null,
  in_plan: ({ inPlan }) => (inPlan === undefined ? null : inPlan ? 'yes' : 'no'),
};

/** What spreadsheets calculate. Space before it does not stop them, nor does the full width of East Asian keyboards. */
const FORMULA = /^[\s\u200c\u200d]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;
/** Where the semicolon separates, as in much of Europe, what follows one is a cell of its own, whatever quotes stand around. */
const FORMULA_AFTER_SEMICOLON = /;(?=(?:[\s"]|\u200c|\u200d)*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

export function* reportCsvPieces({ decisions }: Pick<Report, 'decisions'>): Generator<string> {
  yield* decisionsCsvPieces(decisions);
}

/** A row each, after the names of the columns; every line ends with CR LF. */
export function* decisionsCsvPieces(rows: Iterable<Row>): Generator<string> {
  yield* csvPieces(COLUMNS, rows);
}

/** By the names of the columns. */
export type CsvColumns<T> = { readonly [name: string]: (row: T) => string | number | null };

/** Rows of any kind, in the same form. */
export function* csvPieces<T>(columns: CsvColumns<T>, rows: Iterable<T>): Generator<string> {
  yield `${Object.keys(columns).join(',')}\r\n`;
  const values = Object.values(columns);
  for (const row of rows) yield `${values.map((value) => cell(value(row))).join(',')}\r\n`;
}

function cell(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return `${value}`;
  const shown = showHidden(value);
  const whole = FORMULA.test(value) || FORMULA.test(shown) ? `'${shown}` : shown;
  const text = whole.replace(FORMULA_AFTER_SEMICOLON, ";'");
  return /[",;\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
