// history codec: recorded runs as rows. In: runs, in their order. Out: the rows of each; of what holds on only what is other than in the runs
// before it. INVARIANT: what was encoded is what the files have; a row that could not be written makes a new encoder necessary.
import { hash } from 'node:crypto';
import type { ActionName } from '../../domain/action.ts';
import type { Decision } from '../../domain/decision.ts';
import type { TrustEvent } from '../../domain/event.ts';
import type { Exemption } from '../../domain/exemption.ts';
import { factText, SECRET_TEXT } from '../../domain/fact-packs.ts';
import type { Fact } from '../../domain/facts.ts';
import {
  type GivenRow,
  type GivenState,
  type GivenTables,
  NO_ROWS,
  type PackedRows,
  packRows,
  ROWS_AS_BEFORE,
  rowsOf,
} from '../../domain/given-table.ts';
import type { FactChange } from '../../domain/look-back.ts';
import { type Notice, noticesByEpisode } from '../../domain/notice.ts';
import type { Stop } from '../../domain/operator.ts';
import {
  formOf,
  isMomentary,
  type RecordedPart,
  type RecordedRuleSet,
  type RecordedRun,
  type RecordedSettings,
  type RunFrame,
} from '../../domain/recorded-history.ts';
import type { RolloutState } from '../../domain/rollout.ts';
import type { OwnRead } from '../../domain/snapshot.ts';
import type { MatchedLately, OpenState } from '../../domain/store.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import { parseExact } from '../../platform/contract/exact-json.ts';

// What deciding found open, as rows: one for each noun, which holds until it is another or ends.

/** Nouns with an id, in the order in which deciding is handed them. */
const NOUNS = {
  episode: 'episodes',
  claim: 'claims',
  decision: 'decisions',
  intent: 'intents',
} as const satisfies Partial<Record<OpenKind, keyof OpenState>>;

type NounKind = keyof typeof NOUNS;
const NOUN_KINDS = Object.keys(NOUNS) as NounKind[];

/** By kind and key: what is open, as data. */
type OpenRows = Record<OpenKind, ReadonlyMap<string, unknown>>;

/** There is at most one. */
const THE_STOP = '';
/** Beside the subjects: that they are known, even if there are none. Earlier versions did not record them. */
const IS_KNOWN = '';

function openRowsOf(open: OpenState): OpenRows {
  const byId = (nouns: readonly { id: string }[]) => new Map(nouns.map((noun) => [noun.id, noun]));
  return {
    episode: byId(open.episodes),
    claim: byId(open.claims),
    decision: byId(open.decisions),
    intent: byId(open.intents),
    rejected: new Map([...open.rejected].map((key) => [key, true])),
    attempt: open.lastAttempts,
    attempts: open.attempts24h,
    lately: new Map<string, unknown>(open.lately ? [[IS_KNOWN, true], ...open.lately] : []),
    exemption: byId((open.exemptions ?? []).map(({ members: _, ...exemption }) => exemption)),
    // Apart: an exemption changes whenever it is used, and its members are long.
    members: new Map(
      (open.exemptions ?? []).flatMap(({ id, members }) => (members === undefined ? [] : [[id, members]])),
    ),
    stop: new Map(open.stop ? [[THE_STOP, open.stop]] : []),
    notice: byId([...(open.notices?.values() ?? [])].flat()),
    rollout: new Map((open.rollouts ?? []).map((state) => [state.rule, state])),
  };
}

/** Keys by kind, where only some of what is open was read, or in another order than that of the keys. */
type OpenKeys = { readonly [kind in OpenKind]?: readonly string[] };

/** Undefined: all keys of each kind, in their order. `isPart`: what is not among these is open nevertheless. */
function openKeysOf(rows: OpenRows, isPart: boolean): OpenKeys | undefined {
  const kinds = isPart ? OPEN_KINDS : [...NOUN_KINDS, 'exemption' as const].filter((kind) => !isSorted(rows[kind]));
  return kinds.length === 0 ? undefined : Object.fromEntries(kinds.map((kind) => [kind, [...rows[kind].keys()]]));
}

function isSorted(rows: ReadonlyMap<string, unknown>): boolean {
  let before: string | undefined;
  for (const key of rows.keys()) {
    if (before !== undefined && key < before) return false;
    before = key;
  }
  return true;
}

/** Errors: Error for a key that nothing is recorded of, unless somebody was forgotten. */
function openStateOf(rows: OpenRows, keys: OpenKeys = {}, hasForgotten = false): OpenState {
  const chosen = (kind: OpenKind): [string, unknown][] => {
    const own = rows[kind];
    const wanted = keys[kind];
    if (!wanted) return [...own].sort(([a], [b]) => (a < b ? -1 : 1));
    return (hasForgotten ? wanted.filter((key) => own.has(key)) : wanted).map((key) => {
      if (!own.has(key)) throw new Error(`it has no ${kind} ${key}`);
      return [key, own.get(key)];
    });
  };
  const nouns = <K extends NounKind>(kind: K) => chosen(kind).map(([, noun]) => noun) as OpenState[(typeof NOUNS)[K]];
  const [[, stop] = []] = chosen('stop');
  const members = new Map(chosen('members') as [string, string][]);
  return {
    episodes: nouns('episode'),
    claims: nouns('claim'),
    decisions: nouns('decision'),
    intents: nouns('intent'),
    rejected: new Set(chosen('rejected').map(([key]) => key)),
    lastAttempts: new Map(chosen('attempt') as [string, number][]),
    attempts24h: new Map(chosen('attempts') as [ActionName, number][]),
    ...latelyIn(new Map(chosen('lately')) as Map<string, MatchedLately>),
    exemptions: chosen('exemption').map(([id, one]) => {
      const own = members.get(id);
      return own === undefined ? (one as Exemption) : { ...(one as Exemption), members: own };
    }),
    stop: stop as Stop | undefined,
    ...noticesIn(chosen('notice').map(([, notice]) => notice as Notice)),
    rollouts: chosen('rollout').map(([, state]) => state as RolloutState),
  };
}

/** Absent where there is none: earlier versions recorded none. */
function noticesIn(all: readonly Notice[]): Pick<OpenState, 'notices'> {
  return all.length === 0 ? {} : { notices: noticesByEpisode(all) };
}

function latelyIn(lately: Map<string, MatchedLately>): Pick<OpenState, 'lately'> {
  return lately.delete(IS_KNOWN) ? { lately } : {};
}

// The frame of a run as data without maps and sets, in parts that compress well beside those of other runs.

/** `path` of a row of kind `run`, each with the JSON of its part. */
interface FrameParts {
  run: RunFrame['run'];
  frame: Pick<
    RunFrame,
    | 'steady'
    | 'quietMs'
    | 'freeze'
    | 'activeRules'
    | 'judged'
    | 'unjudged'
    | 'coverage'
    | 'unavailable'
    | 'eventsTo'
    | 'silentSince'
    | 'namedActs'
  > & {
    /** Ids of bundles; undefined: nothing asked for them. */
    bundles: readonly string[] | undefined;
    ownReads?: readonly (readonly [string, OwnRead])[] | undefined;
    given?: readonly GivenState[] | undefined;
  };
  sources: RunFrame['sources'];
  decidedOn?: RunFrame['decidedOn'];
  part?: (Omit<RecordedPart, 'attempts'> & { attempts: readonly (readonly [string, number])[] }) | undefined;
  /** Kinds of which it read something. */
  read: readonly SubjectKind[];
  /** By kind: paths that a reading showed which was not trusted, so that they are not standing ones. */
  shows?: readonly (readonly [SubjectKind, readonly string[]])[] | undefined;
  open?: OpenKeys | undefined;
}

const FRAME_PARTS: readonly (keyof FrameParts)[] = [
  'run',
  'frame',
  'sources',
  'decidedOn',
  'part',
  'read',
  'shows',
  'open',
];

function framePartsOf(frame: RunFrame): FrameParts {
  const { run, steady, quietMs, freeze, activeRules, judged, unjudged, coverage, unavailable, eventsTo } = frame;
  const { sources, decidedOn, bundles, ownReads, namedActs, part, silentSince } = frame;
  return {
    run,
    frame: {
      ...{ steady, quietMs, freeze, activeRules, judged, unjudged, coverage, unavailable, eventsTo, silentSince },
      bundles: bundles && [...bundles.keys()],
      ownReads: ownReads && [...ownReads],
      given: frame.given && [...frame.given.values()].map(({ rows: _, ...state }) => state),
      namedActs,
    },
    sources,
    decidedOn,
    part: part && { ...part, attempts: [...part.attempts] },
    read: [...frame.shows.keys()],
  };
}

/** `device paged v2`: the subject of the rows of what a form shows. */
function formSubject(kind: SubjectKind, sources: RunFrame['sources']): string {
  return `${kind} ${formOf(sources[SOURCE_OF[kind]])}`;
}

/** What the parts do not have, from the standing rows. */
type BesideParts = Pick<RunFrame, 'settings' | 'bundles' | 'shows' | 'given'>;

function frameOf(
  { run, frame: { given: _, ...frame }, sources, decidedOn, part }: FrameParts,
  beside: BesideParts,
): RunFrame {
  return {
    run,
    ...frame,
    ...beside,
    ownReads: frame.ownReads && new Map(frame.ownReads),
    sources,
    decidedOn,
    part: part && { ...part, attempts: new Map(part.attempts) },
  };
}

/** The whole of a noun, as JSON. */
const WHOLE = 'json';
/** The subject of the settings that deciding reads. */
const SETTINGS = 'deciding';
/** The subject of the number of the newest recorded event. */
export const EVENTS_TO = 'events';

// Which texts of standing nouns are recorded, by kind and key, as a hash each.

type SavedTexts = readonly (readonly [RowKind, readonly (readonly [string, string])[]])[];

/** What an encoder knows, as JSON. */
export interface SavedEncoder {
  texts: SavedTexts;
  forms: readonly (readonly [string, readonly string[]])[];
}

/** Takes a row: its members, for there are millions of them in a first run. */
export type AddRow = (
  run: number,
  at: number,
  kind: RowKind,
  subject: string,
  path: string,
  value: string | undefined,
) => void;

/** Takes the rows of a kind that were made before their run was known. */
type AddAhead = (of: SubjectKind, run: number, at: number, kind: RowKind) => void;

/** Adds a row of the run at hand. */
type Add = (kind: RowKind, subject: string, path: string, value: string | undefined) => void;

class StandingTexts {
  constructor(private readonly kinds: Map<RowKind, Map<string, string>>) {}

  apply({ kind, subject, value }: HistoryRow): void {
    if (value === undefined) this.of(kind).delete(subject);
    else this.of(kind).set(subject, printOf(value));
  }

  get all(): SavedTexts {
    return [...this.kinds].map(([kind, known]) => [kind, [...known]]);
  }

  /** `isAll`: what is not among these is gone. */
  put(kind: RowKind, nouns: ReadonlyMap<string, unknown>, isAll: boolean, row: Add): void {
    const known = this.of(kind);
    for (const [key, noun] of nouns) {
      const text = dataText(noun);
      const print = printOf(text);
      if (known.get(key) === print) continue;
      known.set(key, print);
      row(kind, key, WHOLE, text);
    }
    if (!isAll || known.size === nouns.size) return;
    for (const key of known.keys()) {
      if (nouns.has(key)) continue;
      known.delete(key);
      row(kind, key, '', undefined);
    }
  }

  /** The rows of a source: what is not among these is gone. */
  putGiven(source: string, rows: Iterable<readonly [key: string, row: GivenRow]>, row: Add): void {
    const prefix = `${source}\n`;
    const nouns = new Map([...rows].map(([key, noun]) => [`${prefix}${key}`, noun]));
    this.put('given', nouns, false, row);
    const known = this.of('given');
    for (const key of known.keys()) {
      if (!key.startsWith(prefix) || nouns.has(key)) continue;
      known.delete(key);
      row('given', key, '', undefined);
    }
  }

  subjects(kind: RowKind): string[] {
    return [...this.of(kind).keys()];
  }

  replace(kind: RowKind, subjects: readonly string[]): void {
    this.kinds.set(kind, new Map(subjects.map((subject) => [subject, ''])));
  }

  private of(kind: RowKind): Map<string, string> {
    const known = this.kinds.get(kind) ?? new Map<string, string>();
    this.kinds.set(kind, known);
    return known;
  }
}

/** SHA-256: nobody finds two texts of one hash, so it needs no key. */
function printOf(text: string): string {
  return hash('sha256', text, 'base64');
}

type FrameToEncode = Omit<RunFrame, 'shows'>;

/** A change by its members, as a row: `text` as FactPack has it, undefined for a fact that is gone. */
export type TakeChange = (kind: SubjectKind, subject: string, path: string, text: string | undefined) => void;
export type EachChange = (take: TakeChange) => void;

export function eachOf(changes: Iterable<FactChange>): EachChange {
  return (take) => {
    for (const { kind, subject, path, value, secret } of changes)
      take(kind, subject, path, secret ? SECRET_TEXT : value === undefined ? undefined : factText(value));
  };
}

/** A recorded run whose changes and events are read once. */
export interface RunToEncode extends Omit<RecordedRun, 'frame' | 'changes' | 'events'> {
  frame: FrameToEncode;
  /** Kinds of which rows were made before; `changes` come after them. */
  ahead?: readonly SubjectKind[];
  changes: EachChange;
  events: Iterable<TrustEvent>;
  /** Of readings that are trusted: when all changes are read. */
  shows(): RunFrame['shows'];
}

export class RunEncoder {
  private readonly standing: StandingTexts;
  /** By kind and form: the set that was recorded last, and its paths. */
  private readonly shown = new Map<string, { of: ReadonlySet<string>; paths: Set<string> }>();

  constructor({ texts, forms }: SavedEncoder = { texts: [], forms: [] }) {
    this.standing = new StandingTexts(new Map(texts.map(([kind, known]) => [kind, new Map(known)])));
    for (const [subject, paths] of forms) this.shown.set(subject, { of: new Set(), paths: new Set(paths) });
  }

  /** A standing row that is recorded, and is no fact. */
  apply(row: HistoryRow): void {
    if (row.kind !== 'form') {
      this.standing.apply(row);
      return;
    }
    const known = this.shown.get(row.subject) ?? { of: new Set(), paths: new Set() };
    this.shown.set(row.subject, known);
    known.paths.add(row.path);
  }

  get saved(): SavedEncoder {
    return { texts: this.standing.all, forms: [...this.shown].map(([subject, { paths }]) => [subject, [...paths]]) };
  }

  /** The rows of the run itself come first. */
  encode(recorded: RunToEncode, add: AddRow, addAhead?: AddAhead): void {
    const { frame, changes, events, openState, written, ended, ruleSet } = recorded;
    const { seq: run, startedAt: at } = frame.run;
    const row: Add = (kind, subject, path, value) => add(run, at, kind, subject, path, value);
    const openRows = openRowsOf(openState);
    const shows = recorded.shows();
    const aside = [...shows].filter(([kind]) => isMomentary(frame, kind)).flatMap((one) => this.freshOf(frame, ...one));
    const parts = {
      ...framePartsOf({ ...frame, shows }),
      shows: aside.length === 0 ? undefined : aside,
      open: openKeysOf(openRows, frame.part !== undefined),
    };
    for (const path of FRAME_PARTS) if (parts[path] !== undefined) row('run', '', path, dataText(parts[path]));

    const settings = new Map<string, unknown>([
      [SETTINGS, frame.settings],
      [EVENTS_TO, { seq: frame.run.seq, eventsTo: frame.eventsTo }],
    ]);
    this.standing.put('setting', settings, false, row);
    const bundles = new Map([...(frame.bundles ?? [])].map(([id, of]) => [id, [...of]]));
    this.standing.put('bundle', bundles, false, row);
    for (const { source, doubt, rows } of frame.given?.values() ?? [])
      if (!doubt && rows.count !== ROWS_AS_BEFORE) this.standing.putGiven(source, rowsOf(rows), row);
    if (ruleSet) this.rules(ruleSet, row);
    for (const kind of OPEN_KINDS) this.standing.put(kind, openRows[kind], frame.part === undefined, row);
    const kinds = Object.fromEntries(SUBJECT_KINDS.map((kind) => [kind, kindOf(frame, kind)]));
    for (const kind of recorded.ahead ?? []) addAhead?.(kind, run, at, kinds[kind] as RowKind);
    changes((kind, subject, path, text) => row(kinds[kind] as RowKind, subject, path, text));
    for (const event of events) row('event', event.id, WHOLE, dataText({ ...event }));
    for (const decision of written) row('written', decision.id, WHOLE, dataText(decision));
    for (const id of ended) row('ended', id, WHOLE, 'true');
    for (const [kind, of] of recorded.shows()) if (!isMomentary(frame, kind)) this.forms(frame, kind, of, row);
  }

  /** What a form shows for the first time. */
  private freshOf(frame: FrameToEncode, kind: SubjectKind, of: ReadonlySet<string>): [SubjectKind, string[]][] {
    const known = this.shown.get(formSubject(kind, frame.sources))?.paths;
    const fresh = [...of].filter((path) => !known?.has(path));
    return fresh.length === 0 ? [] : [[kind, fresh]];
  }

  private forms(frame: FrameToEncode, kind: SubjectKind, of: ReadonlySet<string>, row: Add): void {
    const subject = formSubject(kind, frame.sources);
    const known = this.shown.get(subject);
    if (known?.of === of) return;
    for (const [, fresh] of this.freshOf(frame, kind, of)) for (const path of fresh) row('form', subject, path, 'true');
    this.shown.set(subject, { of, paths: new Set([...(known?.paths ?? []), ...of]) });
  }

  /** A set replaces the one before it: runs find theirs by its hash where it was recorded. */
  private rules({ hash, files }: NonNullable<RecordedRun['ruleSet']>, row: Add): void {
    for (const known of this.standing.subjects('rules')) if (known !== hash) row('rules', known, '', undefined);
    this.standing.replace('rules', [hash]);
    for (const [file, text] of files) row('rules', hash, file, dataText(text));
  }
}

function kindOf(frame: FrameToEncode, kind: SubjectKind): RowKind {
  return isMomentary(frame, kind) ? `aside.${kind}` : kind;
}

// Rows as the runs that they were made of.

const NOTHING_OPEN: OpenState = {
  ...{ episodes: [], claims: [], decisions: [], intents: [] },
  ...{ rejected: new Set(), lastAttempts: new Map(), attempts24h: new Map() },
};

export class Decoder implements RunDecoder {
  private standing = new Map<string, Map<string, unknown>>();
  /** By kind and form: a fresh set when it grows, since runs before it are handed out. */
  private forms = new Map<string, Set<string>>();
  /** By source of facts from elsewhere: its last table. */
  private packed = new Map<string, { hash: string; rows: PackedRows }>();

  constructor(private readonly options: RunDecoderOptions) {}

  begin(rows: Iterable<HistoryRow>): void {
    this.standing = new Map();
    this.forms = new Map();
    this.packed = new Map();
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
      ...(parts.frame.given && { given: this.given(parts.frame.given) }),
    });
  }

  /** Rows in doubt were not recorded. Equal rows are packed once. */
  private given(states: readonly GivenState[]): GivenTables {
    const rowsAt = ({ source, hash, doubt }: GivenState): PackedRows => {
      if (doubt) return NO_ROWS;
      const known = this.packed.get(source);
      if (known?.hash === hash) return known.rows;
      const prefix = `${source}\n`;
      const own = [...this.of('given')].filter(([subject]) => subject.startsWith(prefix));
      const rows = packRows(own.map(([subject, row]) => [subject.slice(prefix.length), row as GivenRow]));
      this.packed.set(source, { hash, rows });
      return rows;
    };
    return new Map(states.map((state) => [state.source, { ...state, rows: rowsAt(state) }]));
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
    // A row that was forgotten comes again in a table of the same hash.
    if (kind === 'given') this.packed.delete(subject.slice(0, subject.indexOf('\n')));
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

// What the JSON text of a fact says (domain/fact-packs.ts), equal in every digit. Never: a rounded integer.

/** The same of nouns of ours: members that are undefined are left out. */
function dataText(value: unknown): string {
  return factText(value as Fact);
}

/** Errors: AppError `api_answer` when it is no JSON. */
export function factOf(text: string): Fact {
  if (PLAIN_TEXT.test(text)) return text.slice(1, -1);
  if (SHORT.test(text)) return JSON.parse(text);
  return LONG.test(text) ? BigInt(text) : (parseExact(text) as Fact);
}

/** Nothing in it is escaped, nor can it pass for a number. */
const PLAIN_TEXT = /^"[^"\\\x7f]*"$/;
/** No digit can be lost. */
const SHORT = /^(?:true|false|null|-?\d{1,15})$/;
/** Beyond what a number holds: most times are in nanoseconds. */
const LONG = /^-?[1-9]\d{16,19}$/;

// One row of a recorded run, as the segments keep it, and which rows hold on. In: nothing. Out: the form of a row and the table of its
// kinds, which recording, reading, compacting and forgetting share. Never: a secret; it is dropped before a row is made.

/**
 * standing: holds until a later row of the same kind, subject and path; one without a value ends it, and one with an empty path and no value
 * ends all rows of its subject. momentary: of its run alone. event: of its run alone, and carried on for windows that reach back to it.
 */
type RowHold = 'standing' | 'momentary' | 'event';

/** What deciding found open, each noun by its id or key. */
const OPEN_ROWS = {
  episode: 'standing',
  claim: 'standing',
  decision: 'standing',
  intent: 'standing',
  rejected: 'standing',
  attempt: 'standing',
  attempts: 'standing',
  lately: 'standing',
  exemption: 'standing',
  members: 'standing',
  stop: 'standing',
  notice: 'standing',
  rollout: 'standing',
} as const satisfies Record<string, RowHold>;

type OpenKind = keyof typeof OPEN_ROWS;
export const OPEN_KINDS = Object.keys(OPEN_ROWS) as readonly OpenKind[];

/** All kinds of rows. INVARIANT: the hold of a kind never changes, since segments of earlier versions have it too. */
const ROW_KINDS = {
  /** Facts of subjects. `subject` is the id, `path` the fact. Value: JSON of the fact (src/history/codec/run-encoder.ts). */
  device: 'standing',
  user: 'standing',
  service: 'standing',
  /** The same of a reading that was not trusted, or of a subject that a look could not read. */
  'aside.device': 'momentary',
  'aside.user': 'momentary',
  'aside.service': 'momentary',
  /** The run and its frame, by parts: `path` names the part. Each run has at least one row of this kind, and it is the first one. */
  run: 'momentary',
  /** An event of the log; `subject` is its id. */
  event: 'event',
  /** Decisions that the run wrote, and ended; `subject` is the id. */
  written: 'momentary',
  ended: 'momentary',
  /** What deciding read, written when it changed; `subject` is the id or key of each. */
  setting: 'standing',
  /** Which paths records of a form have had: `subject` is the kind and its form, such as `device paged`. */
  form: 'standing',
  /** The files of a rule set: `subject` is its hash, `path` the file. */
  rules: 'standing',
  coverage: 'standing',
  bundle: 'standing',
  source: 'standing',
  /** Rows of facts from elsewhere: `subject` is the source and the key of the row, on two lines. */
  given: 'standing',
  ...OPEN_ROWS,
} as const satisfies Record<string, RowHold>;

export type RowKind = keyof typeof ROW_KINDS;

export interface HistoryRow {
  /** `Run.seq`; 0 in a base, which has what held before the runs after it. */
  run: number;
  /** When that run began, epoch ms. In a base: when the run began that recorded the row. */
  at: number;
  kind: RowKind;
  subject: string;
  path: string;
  /** JSON text. Undefined: it is there no longer. */
  value: string | undefined;
}

/** Undefined for a kind of a later version: such a row is of its run alone. */
export function holdOf(kind: string): RowHold | undefined {
  return Object.hasOwn(ROW_KINDS, kind) ? ROW_KINDS[kind as RowKind] : undefined;
}

/** Whose fact a row is, trusted or not; undefined for rows of other kinds. */
export function factKindOf(kind: string): SubjectKind | undefined {
  return FACT_KINDS.get(kind);
}

const FACT_KINDS: ReadonlyMap<string, SubjectKind> = new Map(
  SUBJECT_KINDS.flatMap((kind): [string, SubjectKind][] => [
    [kind, kind],
    [`aside.${kind}`, kind],
  ]),
);

/** Reads the rows of one stretch of runs, in order; it keeps the standing ones that are no facts. */
export interface RunDecoder {
  /** Forgets all it kept. `rows`: the standing rows that are no facts, as they were before the next run, in no order. */
  begin(rows: Iterable<HistoryRow>): void;
  /**
   * The next run. `rows`: all of it that are no facts, in the order in which they were written. `changes`: its facts, those of readings that are
   * not trusted too. Throws when the rows make no run: it is then counted as damaged.
   */
  run(rows: readonly HistoryRow[], changes: Iterable<FactChange>): RecordedRun;
  /** Events of rows of kind `event`. */
  events(rows: readonly HistoryRow[]): TrustEvent[];
  /** A rule set of its rows of kind `rules`; undefined when they are not whole. */
  ruleSet(hash: string, rows: readonly HistoryRow[]): RecordedRuleSet | undefined;
}

interface RunDecoderOptions {
  /** Open states and decisions may be left out of the runs. */
  factsOnly: boolean;
  /** Somebody was forgotten: a run may name what is no longer recorded. */
  hasForgotten?: boolean;
}

export type NewRunDecoder = (options: RunDecoderOptions) => RunDecoder;
