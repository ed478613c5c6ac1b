// history codec: recorded runs as rows. In: runs, in their order. Out: the rows of each; of what holds on only what is other than in the runs
// before it. INVARIANT: what was encoded is what the files have; a row that could not be written makes a new encoder necessary.
import { type FactChange, isMomentary, type RecordedRun, type RunFrame } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { dataText, factText, SECRET_TEXT } from '../fact-text.ts';
import type { HistoryRow, RowKind } from '../rows.ts';
import { FRAME_PARTS, formSubject, framePartsOf } from './frame-rows.ts';
import { OPEN_KINDS, openKeysOf, openRowsOf } from './open-state-rows.ts';
import { SETTINGS, WHOLE } from './row-paths.ts';
import { StandingTexts } from './standing-texts.ts';

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

  /** The rows of the run itself come first. */
  encode({ frame, changes, events, openState, written, ended, ruleSet }: RecordedRun): HistoryRow[] {
    const { seq: run, startedAt: at } = frame.run;
    const rows: HistoryRow[] = [];
    const add = (kind: RowKind, subject: string, path: string, value: string | undefined) =>
      void rows.push({ run, at, kind, subject, path, value });
    const openRows = openRowsOf(openState);
    const shows = this.addForms(frame, (subject, path) => add('form', subject, path, 'true'));
    const parts = { ...framePartsOf(frame), shows, open: openKeysOf(openRows, frame.part !== undefined) };
    const own = FRAME_PARTS.filter((path) => parts[path] !== undefined);
    const frameRows = own.map(
      (path): HistoryRow => ({ run, at, kind: 'run', subject: '', path, value: dataText(parts[path]) }),
    );

    this.standing.put('setting', new Map([[SETTINGS, frame.settings]]), false, add);
    if (frame.bundles)
      this.standing.put('bundle', new Map([...frame.bundles].map(([id, of]) => [id, [...of]])), false, add);
    if (ruleSet) this.addRules(ruleSet, add);
    for (const kind of OPEN_KINDS) this.standing.put(kind, openRows[kind], frame.part === undefined, add);
    for (const change of changes) add(kindOf(frame, change), change.subject, change.path, textOf(change));
    for (const event of events) add('event', event.id, WHOLE, dataText({ ...event }));
    for (const decision of written) add('written', decision.id, WHOLE, dataText(decision));
    for (const id of ended) add('ended', id, WHOLE, 'true');
    return [...frameRows, ...rows];
  }

  /** Records what forms show for the first time; returns it by kind where the reading is not trusted. */
  private addForms(
    { shows, sources }: RunFrame,
    add: (subject: string, path: string) => void,
  ): [SubjectKind, string[]][] | undefined {
    const aside: [SubjectKind, string[]][] = [];
    for (const [kind, of] of shows) {
      const subject = formSubject(kind, sources);
      const known = this.shown.get(subject) ?? { of: new Set<string>(), paths: new Set<string>() };
      if (known.of === of) continue;
      const fresh = [...of].filter((path) => !known.paths.has(path));
      if (isMomentary({ sources }, kind)) {
        if (fresh.length > 0) aside.push([kind, fresh]);
        continue;
      }
      for (const path of fresh) {
        known.paths.add(path);
        add(subject, path);
      }
      this.shown.set(subject, { of, paths: known.paths });
    }
    return aside.length === 0 ? undefined : aside;
  }

  /** A set replaces the one before it: runs find theirs by its hash where it was recorded. */
  private addRules(
    { hash, files }: NonNullable<RecordedRun['ruleSet']>,
    add: (kind: RowKind, subject: string, path: string, value: string | undefined) => void,
  ): void {
    for (const known of this.standing.subjects('rules')) if (known !== hash) add('rules', known, '', undefined);
    this.standing.replace('rules', [hash]);
    for (const [file, text] of files) add('rules', hash, file, factText(text));
  }
}

function kindOf(frame: RunFrame, { kind }: FactChange): RowKind {
  return isMomentary(frame, kind) ? `aside.${kind}` : kind;
}

function textOf({ value, secret }: FactChange): string | undefined {
  if (secret) return SECRET_TEXT;
  return value === undefined ? undefined : factText(value);
}
