// report: what people read, whatever the medium: a report, a replay, a comparison, a summary is a document of sections, and a section is
// blocks. Whoever builds one writes plain text that may hold hostile names; each writer (text.ts, markdown.ts, html/document.tsx) escapes it
// for its own medium, and does not know what the document is about.

import type { SubjectKind } from '../../domain/subjects.ts';
import { type Cell, type CellLine, countText } from './fact-text.ts';

export interface Document {
  title: string;
  /** What its kind means, right under the title. */
  note?: string;
  /** Each is made when its turn comes. */
  sections: Iterable<Section>;
}

export interface Section {
  /** Empty: the beginning of the document, which has none. */
  title: string;
  /** Of what it is about. */
  count?: number;
  id?: string;
  /** How the machine worked: a page folds it. */
  isDetail?: boolean;
  blocks: Iterable<Block>;
}

export type Block =
  | Paragraph
  | { is: 'list'; items: readonly CellLine[] }
  /** Each can be copied whole. `page`: where a page has the buttons for it. */
  | { is: 'commands'; to: string; commands: readonly string[]; page?: { name: string; path: string } }
  /** What is known of one thing, by name. */
  | { is: 'facts'; facts: readonly { name: string; value: CellLine }[] }
  | TableBlock
  /** A part of the section, with its own title and count. */
  | { is: 'part'; title: CellLine; count: number; blocks: Iterable<Block> }
  /** Lists that can be closed, or left out of what must be short. `left`: how many are not among them. */
  | { is: 'folds'; folds: readonly { title: string; blocks: readonly Block[] }[]; left: number };

/** `lead`: what a reader looks for first. `wait`: what stands in the way. */
type Tone = 'lead' | 'plain' | 'quiet' | 'good' | 'bad' | 'wait';

interface Paragraph {
  is: 'words';
  tone: Tone;
  sentences: readonly string[];
}

interface TableBlock {
  is: 'table';
  columns: readonly DocumentColumn[];
  rows: Iterable<readonly Cell[]>;
  /** What was left out, as a sentence without its full stop. */
  left?: string | undefined;
}

export type DocumentColumn = string | { head: string; isNumber: true };

/** Without those that have nothing to say. */
export function words(tone: Tone, ...sentences: readonly (string | undefined)[]): Paragraph {
  return { is: 'words', tone, sentences: sentences.filter((one) => one !== undefined && one !== '') as string[] };
}

/** `Waits for a yes (3)`. */
export function titleOf({ title, count }: Pick<Section, 'title' | 'count'>): string {
  return count === undefined ? title : `${title} (${countText(count)})`;
}

export function headOf(column: DocumentColumn): string {
  return typeof column === 'string' ? column : column.head;
}

/** At most `max` of `count`: `and 3 more` stands for the rest. */
export function capped<T extends CellLine>(items: readonly T[], count: number, max: number): CellLine[] {
  const shown = items.slice(0, max);
  const more = count - shown.length;
  return more > 0 ? [...shown, `and ${countText(more)} more`] : [...shown];
}

/** Of `folds` that are not shown. */
export function leftWords(left: number): string {
  return `and ${countText(left)} more lists: \`--format json\` has them all`;
}

// Where the page of a thing is. A document that is mailed has no links.

export function rulePath(rule: string): string {
  return `/rules/${encodeURIComponent(rule)}`;
}

export function planPath(plan: string): string {
  return `/plans/${encodeURIComponent(plan)}`;
}

export function subjectPath(kind: SubjectKind, id: string): string {
  return `/subjects/${kind}/${encodeURIComponent(id)}`;
}
