// report: a replay as Markdown, for a ticket or a pull request. In: a replay as a document. Out: Markdown; long tables are folded and cut.
// INVARIANT: text from a record or a rule is only printed through `md` or `code`.
import { md, mdLine, mdSentences, mdTable } from '../markdown-text.ts';
import type { ReplayDocument } from './document.ts';
import { leftWords, type ReplayTable, replayTables } from './tables.ts';
import { differencesWords, gapsWords, replayHeadline, replaySummary, untrustedWords, wayWords } from './words.ts';

const ROWS_MAX = 40;

export function replayMarkdown(replay: ReplayDocument): string {
  const more = [
    ...replaySummary(replay),
    differencesWords(replay) ?? '',
    untrustedWords(replay) ?? '',
    gapsWords(replay) ?? '',
  ];
  const parts = [
    `# ${md(replayHeadline(replay))}`,
    md(wayWords(replay)),
    `**${md(replay.sentence)}**`,
    mdSentences(more.filter((one) => one !== '')),
    ...replayTables(replay, ROWS_MAX).map(tablePart),
  ];
  return `${parts.join('\n\n')}\n`;
}

function tablePart(table: ReplayTable): string {
  const left = leftWords(table);
  return [`## ${md(table.title)}`, tableMarkdown(table), ...(left === undefined ? [] : [`${left}.`])].join('\n\n');
}

function tableMarkdown({ columns, rows }: Pick<ReplayTable, 'columns' | 'rows'>): string {
  const cells = rows.map((row) => row.map(({ lines }) => lines.map(mdLine).join('<br>') || '—'));
  return [
    ...mdTable(
      columns.map(({ head }) => head),
      cells,
    ),
  ].join('');
}
