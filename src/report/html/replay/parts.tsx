// report: a replay in HTML, for a file and for the page: its sentence, its pictures, its tables. In: a replay as a document. Out: elements
// that may hold hostile names, escaped; subjects are links where there are pages.

import type { Child } from 'hono/jsx';
import type { ReplayDocument, ReplaySubject } from '../../replay/document.ts';
import { leftWords, type ReplayCell, type ReplayTable, replayTables } from '../../replay/tables.ts';
import { differencesWords, gapsWords, replaySummary, untrustedWords, wayWords } from '../../replay/words.ts';
import { Line, Sentences } from '../line.tsx';
import { Link } from '../link.tsx';
import { Table } from '../table.tsx';
import { Words } from '../text.tsx';
import { subjectPath } from '../who.tsx';
import { Picture } from './picture.tsx';

/** Rules with a picture: those that matched most. */
const PICTURES_MAX = 6;

export interface ReplayPartsProps {
  replay: ReplayDocument;
  /** Rows of each table. */
  rowsMax: number;
  isPage: boolean;
}

export function ReplayParts({ replay, rowsMax, isPage }: ReplayPartsProps) {
  const drawn = [...replay.rules]
    .filter(({ matches, acts }) => matches + acts > 0)
    .sort((one, other) => other.acts - one.acts || other.matches - one.matches)
    .slice(0, PICTURES_MAX);
  const wrong = replay.differences.some(({ explained }) => !explained);
  return (
    <>
      <p>
        <Words>{wayWords(replay)}</Words>
      </p>
      <p class="lead">
        <Words>{replay.sentence}</Words>
      </p>
      <Sentences tone="quiet" of={replaySummary(replay)} />
      <Notice text={differencesWords(replay)} tone={wrong ? 'bad' : 'good'} />
      <Notice text={untrustedWords(replay)} tone="wait" />
      <Notice text={gapsWords(replay)} tone="wait" />
      {drawn.length === 0 ? null : (
        <section class="card">
          <h2>Over time</h2>
          {drawn.map((rule, at) => (
            <Picture replay={replay} rule={rule} at={at} />
          ))}
        </section>
      )}
      {replayTables(replay, rowsMax).map((table) => (
        <Section table={table} isPage={isPage} />
      ))}
    </>
  );
}

function Notice({ text, tone }: { text: string | undefined; tone: string }) {
  if (text === undefined) return null;
  return (
    <div class={`notice ${tone}`}>
      <Words>{text}</Words>
    </div>
  );
}

function Section({ table, isPage }: { table: ReplayTable; isPage: boolean }) {
  const left = leftWords(table);
  return (
    <section class="card" id={`replay-${table.id}`}>
      <h2>{table.title}</h2>
      <Table
        caption={table.title}
        columns={table.columns.map(({ head, isNumber }) => ({ head, ...(isNumber && { kind: 'number' as const }) }))}
        rows={table.rows.map((row) => ({ cells: row.map((cell) => cellOf(cell, isPage)) }))}
      />
      {left === undefined ? null : <p class="quiet">{left}</p>}
    </section>
  );
}

/** As `timeCell` writes them: with its zone, a reader sees it in their own. */
const TIME_CELL = /(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)Z/g;

function cellOf({ lines, subject }: ReplayCell, isPage: boolean): Child {
  if (lines.length === 0) return '';
  const shown = lines.map((line) => <Line of={typeof line === 'string' ? line.replace(TIME_CELL, '$1 UTC') : line} />);
  return subject && isPage ? <Link href={hrefOf(subject)}>{shown}</Link> : <div>{shown}</div>;
}

function hrefOf({ kind, id }: ReplaySubject): string {
  return subjectPath(kind, id);
}
