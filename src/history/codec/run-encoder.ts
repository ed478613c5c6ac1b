// history codec: recorded runs as rows. In: runs, in their order. Out: the rows of each; of what holds on only what is other than in the runs
// before it. INVARIANT: what was encoded is what the files have; a row that could not be written makes a new encoder necessary.
import type { TrustEvent } from '../../domain/event.ts';
import { type FactChange, isMomentary, type RecordedRun, type RunFrame } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { dataText, factText, SECRET_TEXT } from '../fact-text.ts';
import { type HistoryRow, OPEN_KINDS, type RowKind } from '../rows.ts';
import { FRAME_PARTS, formSubject, framePartsOf } from './frame-rows.ts';
import { openKeysOf, openRowsOf } from './open-state-rows.ts';
import { EVENTS_TO, SETTINGS, WHOLE } from './row-paths.ts';
import { type Make, StandingTexts } from './standing-texts.ts';

type FrameToEncode = Omit<RunFrame, 'shows'>;

/** A recorded run whose changes and events are read once. */
export interface RunToEncode extends Omit<RecordedRun, 'frame' | 'changes' | 'events'> {
  frame: FrameToEncode;
  changes: Iterable<FactChange>;
  events: Iterable<TrustEvent>;
  /** Of readings that are trusted: when all changes are read. */
  shows(): RunFrame['shows'];
}

export class RunEncoder {
  private readonly standing: StandingTexts;
  /** By kind and form: the set that was recorded last, and its paths. */
  private readonly shown = new Map<string, { of: ReadonlySet<string>; paths: Set<string> }>();

  /** `before`: the standing rows that are recorded. */
  constructor(before: readonly HistoryRow[] = []) {
    this.standing = new StandingTexts(before);
    for (const { kind, subject, path } of before) {
      if (kind !== 'form') continue;
      const known = this.shown.get(subject) ?? { of: new Set(), paths: new Set() };
      this.shown.set(subject, known);
      known.paths.add(path);
    }
  }

  /** The rows of the run itself come first. They are to be read once, to their end, before the next run. */
  *encode(recorded: RunToEncode): Generator<HistoryRow> {
    const { frame, changes, events, openState, written, ended, ruleSet } = recorded;
    const { seq: run, startedAt: at } = frame.run;
    const row: Make = (kind, subject, path, value) => ({ run, at, kind, subject, path, value });
    const openRows = openRowsOf(openState);
    const shows = recorded.shows();
    const aside = [...shows].filter(([kind]) => isMomentary(frame, kind)).flatMap((one) => this.freshOf(frame, ...one));
    const parts = {
      ...framePartsOf({ ...frame, shows }),
      shows: aside.length === 0 ? undefined : aside,
      open: openKeysOf(openRows, frame.part !== undefined),
    };
    for (const path of FRAME_PARTS) if (parts[path] !== undefined) yield row('run', '', path, dataText(parts[path]));

    const settings = new Map<string, unknown>([
      [SETTINGS, frame.settings],
      [EVENTS_TO, { seq: frame.run.seq, eventsTo: frame.eventsTo }],
    ]);
    yield* this.standing.put('setting', settings, false, row);
    const bundles = new Map([...(frame.bundles ?? [])].map(([id, of]) => [id, [...of]]));
    yield* this.standing.put('bundle', bundles, false, row);
    if (ruleSet) yield* this.rules(ruleSet, row);
    for (const kind of OPEN_KINDS) yield* this.standing.put(kind, openRows[kind], frame.part === undefined, row);
    for (const change of changes) yield row(kindOf(frame, change), change.subject, change.path, textOf(change));
    for (const event of events) yield row('event', event.id, WHOLE, dataText({ ...event }));
    for (const decision of written) yield row('written', decision.id, WHOLE, dataText(decision));
    for (const id of ended) yield row('ended', id, WHOLE, 'true');
    for (const [kind, of] of recorded.shows()) if (!isMomentary(frame, kind)) yield* this.forms(frame, kind, of, row);
  }

  /** What a form shows for the first time. */
  private freshOf(frame: FrameToEncode, kind: SubjectKind, of: ReadonlySet<string>): [SubjectKind, string[]][] {
    const known = this.shown.get(formSubject(kind, frame.sources))?.paths;
    const fresh = [...of].filter((path) => !known?.has(path));
    return fresh.length === 0 ? [] : [[kind, fresh]];
  }

  private *forms(frame: FrameToEncode, kind: SubjectKind, of: ReadonlySet<string>, row: Make): Generator<HistoryRow> {
    const subject = formSubject(kind, frame.sources);
    const known = this.shown.get(subject);
    if (known?.of === of) return;
    for (const [, fresh] of this.freshOf(frame, kind, of))
      for (const path of fresh) yield row('form', subject, path, 'true');
    this.shown.set(subject, { of, paths: new Set([...(known?.paths ?? []), ...of]) });
  }

  /** A set replaces the one before it: runs find theirs by its hash where it was recorded. */
  private *rules({ hash, files }: NonNullable<RecordedRun['ruleSet']>, row: Make): Generator<HistoryRow> {
    for (const known of this.standing.subjects('rules')) if (known !== hash) yield row('rules', known, '', undefined);
    this.standing.replace('rules', [hash]);
    for (const [file, text] of files) yield row('rules', hash, file, dataText(text));
  }
}

function kindOf(frame: FrameToEncode, { kind }: FactChange): RowKind {
  return isMomentary(frame, kind) ? `aside.${kind}` : kind;
}

function textOf({ value, secret }: FactChange): string | undefined {
  if (secret) return SECRET_TEXT;
  return value === undefined ? undefined : factText(value);
}
