// history codec: rows as the runs that they were made of. In: the standing rows before the first run, then the rows of each run, in order. Out: each
// run with all that held when it decided. It keeps the standing rows that are no facts.
import type { Decision } from '../../domain/decision.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type {
  FactChange,
  RecordedRuleSet,
  RecordedRun,
  RecordedSettings,
  RunFrame,
} from '../../domain/recorded-history.ts';
import type { OpenState } from '../../domain/store.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import { factOf } from '../fact-text.ts';
import { type HistoryRow, holdOf, OPEN_KINDS } from '../rows.ts';
import type { RunDecoder, RunDecoderOptions } from '../run-decoder.ts';
import { type FrameParts, formSubject, frameOf } from './frame-rows.ts';
import { type OpenRows, openStateOf } from './open-state-rows.ts';
import { SETTINGS } from './row-paths.ts';

const NOTHING_OPEN: OpenState = {
  ...{ episodes: [], claims: [], decisions: [], intents: [] },
  ...{ rejected: new Set(), lastAttempts: new Map(), attempts24h: new Map() },
};

export class Decoder implements RunDecoder {
  private standing = new Map<string, Map<string, unknown>>();
  /** By kind and form: a fresh set when it grows, since runs before it are handed out. */
  private forms = new Map<string, Set<string>>();

  constructor(private readonly options: RunDecoderOptions) {}

  begin(rows: Iterable<HistoryRow>): void {
    this.standing = new Map();
    this.forms = new Map();
    for (const row of rows) this.apply(row);
  }

  run(rows: readonly HistoryRow[], changes: Iterable<FactChange>): RecordedRun {
    const parts = new Map<string, unknown>();
    const [written, ended]: [Decision[], string[]] = [[], []];
    const events: TrustEvent[] = [];
    const rules = new Map<string, string>();
    let ruleSetHash: string | undefined;
    for (const row of rows) {
      if (row.kind === 'run') parts.set(row.path, dataOf(row));
      else if (row.kind === 'written') written.push(dataOf(row) as Decision);
      else if (row.kind === 'ended') ended.push(row.subject);
      else if (row.kind === 'event') events.push(eventOf(row));
      else if (row.kind === 'rules' && row.value !== undefined) {
        ruleSetHash = row.subject;
        rules.set(row.path, String(dataOf(row)));
      }
      if (holdOf(row.kind) === 'standing') this.apply(row);
    }
    if (!parts.has('run') || !parts.has('frame') || !parts.has('sources')) throw new Error('its frame is not whole');
    const own = Object.fromEntries(parts) as unknown as FrameParts;
    const { factsOnly, hasForgotten = false } = this.options;
    const openState = factsOnly ? NOTHING_OPEN : openStateOf(this.open(), own.open, hasForgotten);
    const ruleSet = ruleSetHash === undefined ? {} : { ruleSet: { hash: ruleSetHash, files: rules } };
    return { frame: this.frame(own), changes, events, openState, written, ended, ...ruleSet };
  }

  events(rows: readonly HistoryRow[]): TrustEvent[] {
    return rows.map(eventOf);
  }

  ruleSet(hash: string, rows: readonly HistoryRow[]): RecordedRuleSet | undefined {
    const files = rows.filter(({ subject, value }) => subject === hash && value !== undefined);
    return files.length === 0
      ? undefined
      : { hash, files: new Map(files.map((row) => [row.path, String(dataOf(row))])) };
  }

  private frame(parts: FrameParts): RunFrame {
    const settings = this.of('setting').get(SETTINGS) as RecordedSettings | undefined;
    if (!settings) throw new Error('its settings are not recorded');
    const { bundles } = parts.frame;
    return frameOf(parts, {
      settings,
      bundles: bundles && new Map(bundles.map((id) => [id, new Set(this.of('bundle').get(id) as string[])])),
      shows: this.shows(parts),
    });
  }

  /** By each kind that was read. */
  private shows({ sources, shows = [], read }: FrameParts): Map<SubjectKind, ReadonlySet<string>> {
    const aside = new Map(shows);
    return new Map(
      SUBJECT_KINDS.filter((kind) => read.includes(kind)).map((kind) => {
        const known = this.forms.get(formSubject(kind, sources)) ?? new Set<string>();
        const more = aside.get(kind);
        return [kind, more ? new Set([...known, ...more]) : known];
      }),
    );
  }

  private open(): OpenRows {
    return Object.fromEntries(OPEN_KINDS.map((kind) => [kind, this.of(kind)])) as unknown as OpenRows;
  }

  private apply(row: HistoryRow): void {
    const { kind, subject, path, value } = row;
    if (kind === 'form') {
      if (value !== undefined) this.forms.set(subject, new Set([...(this.forms.get(subject) ?? []), path]));
      return;
    }
    if (kind === 'rules') return;
    if (value === undefined) this.of(kind).delete(subject);
    else this.of(kind).set(subject, dataOf(row));
  }

  private of(kind: string): Map<string, unknown> {
    const known = this.standing.get(kind) ?? new Map<string, unknown>();
    this.standing.set(kind, known);
    return known;
  }
}

function dataOf({ value }: HistoryRow): unknown {
  return value === undefined ? undefined : factOf(value);
}

function eventOf(row: HistoryRow): TrustEvent {
  return dataOf(row) as TrustEvent;
}
