// report: the history of a target or subject: JSON for programs, lines for a terminal. In: lines, newest first. Out: text of visible
// characters.
import type { HistoryLine } from '../domain/history.ts';
import { isoTime } from '../domain/time-text.ts';
import { type TerminalOptions, terminalTable } from './terminal-table.ts';
import { timeCell } from './time-words.ts';

export function historyView({ at, kind, text, action, target, rules, run, by, id }: HistoryLine) {
  return {
    at: isoTime(at),
    kind,
    text,
    action: action ?? null,
    target: target ?? null,
    rules,
    run: run ?? null,
    by: by ?? null,
    id,
  };
}

/** Empty without lines. */
export function historyText(lines: readonly HistoryLine[], options: TerminalOptions = {}): string {
  if (lines.length === 0) return '';
  const rows = lines.map(({ at, kind, text, run, by }) => [
    timeCell(isoTime(at)),
    [kind, ...(run === undefined ? [] : [`run ${run}`])],
    by ?? '',
    text,
  ]);
  return `History\n\n${terminalTable(['When', 'What', 'Who', 'How'], rows, options)}\n`;
}
