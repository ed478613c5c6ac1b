// report: a replay for a terminal. In: a replay as a document. Out: text whose only control characters are line feeds. Long tables are cut;
// JSON and CSV have everything.
import { paragraph, type TerminalOptions, terminalTable } from '../terminal-table.ts';
import { sparkText } from './buckets.ts';
import type { ReplayDocument } from './document.ts';
import { leftWords, type ReplayTable, replayTables } from './tables.ts';
import { differencesWords, gapsWords, replayHeadline, replaySummary, untrustedWords, wayWords } from './words.ts';

const ROWS_MAX = 50;

export function replayText(replay: ReplayDocument, options: TerminalOptions = {}): string {
  const tables = replayTables(replay, ROWS_MAX);
  const parts = [
    [paragraph(replayHeadline(replay), options), paragraph(wayWords(replay), options)].join('\n'),
    paragraph(replay.sentence, options),
    paragraph(
      [
        ...replaySummary(replay),
        differencesWords(replay) ?? '',
        untrustedWords(replay) ?? '',
        gapsWords(replay) ?? '',
      ].filter((one) => one !== ''),
      options,
    ),
    overTime(replay, options),
    ...tables.map((table) => tableText(table, options)),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function tableText(table: ReplayTable, options: TerminalOptions): string {
  const head = table.columns.map((column) => column.head);
  const rows = table.rows.map((row) => row.map(({ lines }) => lines));
  return [headingOf(table), terminalTable(head, rows, options), leftWords(table)].filter(Boolean).join('\n');
}

/** The name of an action stays as it is. */
function headingOf({ title }: ReplayTable): string {
  const [what = '', ...action] = title.split(':');
  return [what.toUpperCase(), ...action].join(':');
}

function overTime(replay: ReplayDocument, options: TerminalOptions): string {
  const rows = sparkText(replay);
  if (rows.length === 0) return '';
  return ['MATCHES OVER TIME', terminalTable(['Rule', 'Oldest first', 'Matches'], rows, options)].join('\n');
}
