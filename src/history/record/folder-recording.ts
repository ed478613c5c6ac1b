// history/record: the recording of one database, in its folder. In: runs as they were seen. Out: a segment for each; in time fewer and larger
// ones, and none older than they are kept. What was recorded last is read from the folder, at first and after each failure.
import type { TrustEvent } from '../../domain/event.ts';
import type { PresentPrints } from '../../domain/identity.ts';
import type { PrintKey } from '../../domain/print-bits.ts';
import type { FactChange, RecordForm, SeenRun } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { EVENTS_TO } from '../codec/row-paths.ts';
import { RunEncoder } from '../codec/run-encoder.ts';
import { factOf, SECRET_TEXT } from '../fact-text.ts';
import { HistoryWriter } from '../files/history-writer.ts';
import { lastStanding } from '../files/last-standing.ts';
import { UnreadableSegment } from '../files/segment-columns.ts';
import { tidyHistory } from '../files/tidy.ts';
import { factKindOf, type HistoryRow } from '../rows.ts';
import { Recording } from './recording.ts';
import type { EventsOfRun } from './recording-desk.ts';

export interface FolderSettings {
  folder: string;
  /** What the records are of. */
  address: string;
  /** What wrote them. */
  program: string;
  /** How long they are kept. */
  keepMs: number;
  /** Of the database that they lie beside. */
  printKey: PrintKey;
}

interface Opened {
  writer: HistoryWriter;
  recording: Recording;
  encoder: RunEncoder;
}

export class FolderRecording {
  private opened: Opened | undefined;

  constructor(private readonly settings: FolderSettings) {}

  /** Errors: AppError `store_failed`. */
  async presentPrints(kind: SubjectKind, form: RecordForm): Promise<PresentPrints> {
    return (await this.open()).recording.presentPrints(kind, form);
  }

  /** Errors: AppError `store_failed`. */
  async eventsAfter(run: EventsOfRun): Promise<number> {
    return (await this.open()).recording.eventsAfter(run);
  }

  /** Errors: AppError `store_failed`; then nothing of it is recorded. */
  async record(run: SeenRun, events: Iterable<TrustEvent>): Promise<void> {
    const { writer, recording, encoder } = await this.open();
    // Until it is written, what is recorded is not what is known here.
    this.opened = undefined;
    writer.writeRun(encoder.encode(recording.take(run, events)));
    this.opened = { writer, recording, encoder };
  }

  /** Errors: AppError `store_failed`; the records are as they were then. */
  async tidy(nowMs: number): Promise<void> {
    const { folder, address, program, keepMs, printKey } = this.settings;
    const { needsBase } = await tidyHistory(folder, { program, address, nowMs, keepMs });
    if (!needsBase || !this.opened) return;
    this.opened.writer.writeBase([]);
    this.opened = { ...this.opened, recording: new Recording(printKey), encoder: new RunEncoder() };
  }

  private async open(): Promise<Opened> {
    this.opened ??= await openFolder(this.settings);
    return this.opened;
  }
}

async function openFolder({ folder, address, program, printKey }: FolderSettings): Promise<Opened> {
  const writer = new HistoryWriter(folder, { address, program });
  const known = await loaded(await lastStanding(folder, address), printKey);
  if (known) return { writer, ...known };
  // What holds cannot be read: the next run is recorded whole, and is the first of a new beginning.
  writer.writeBase([]);
  return { writer, recording: new Recording(printKey), encoder: new RunEncoder() };
}

/** Undefined: it cannot be read, or not to its end. */
async function loaded(
  parts: AsyncIterable<Iterable<HistoryRow>> | undefined,
  key: PrintKey,
): Promise<Omit<Opened, 'writer'> | undefined> {
  try {
    return parts && (await loadedOf(parts, key));
  } catch (error) {
    if (error instanceof UnreadableSegment) return undefined;
    throw error;
  }
}

async function loadedOf(parts: AsyncIterable<Iterable<HistoryRow>>, key: PrintKey): Promise<Omit<Opened, 'writer'>> {
  const recording = new Recording(key);
  const others: HistoryRow[] = [];
  let facts: HistoryRow[] = [];
  const finish = () => {
    const [first] = facts;
    if (first) recording.differs[first.kind as SubjectKind].load(first.subject, facts.map(changeOf));
    facts = [];
  };
  for await (const rows of parts) {
    for (const row of rows) {
      if (factKindOf(row.kind) === undefined) others.push(row);
      else {
        if (facts[0]?.subject !== row.subject || facts[0]?.kind !== row.kind) finish();
        facts.push(row);
      }
    }
    finish();
  }
  loadOthers(recording, others);
  return { recording, encoder: new RunEncoder(others) };
}

function changeOf({ path, value }: HistoryRow): Pick<FactChange, 'path' | 'value' | 'secret'> {
  if (value === SECRET_TEXT) return { path, value: undefined, secret: true };
  return { path, value: value === undefined ? undefined : factOf(value) };
}

function loadOthers(recording: Recording, rows: readonly HistoryRow[]): void {
  for (const { kind, subject, path, value } of rows) {
    if (kind === 'rules') recording.ruleSet = subject;
    if (kind === 'setting' && subject === EVENTS_TO) recording.eventsTo = JSON.parse(value ?? '') as EventsOfRun;
    if (kind !== 'form') continue;
    const space = subject.indexOf(' ');
    recording.differs[subject.slice(0, space) as SubjectKind].loadShown(subject.slice(space + 1) as RecordForm, path);
  }
}
