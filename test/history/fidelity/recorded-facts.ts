// fidelity: the facts that a record gives for each run, put together again without the replay's own code, against the lists that the platform
// really answered. In: items of a history, what was listed in each run. Out: where a run saw something else.
import { canonicalJson } from '../../../src/base/json.ts';
import { type Fact, type Facts, isFacts } from '../../../src/domain/facts.ts';
import type { FactChange } from '../../../src/domain/look-back.ts';
import { isMomentary, type RecordedRun } from '../../../src/domain/recorded-history.ts';
import { SOURCE_OF, SUBJECT_KINDS, type SubjectKind } from '../../../src/domain/subjects.ts';
import { dropSecrets } from '../../../src/engine/pull/trust-gate.ts';

/** By kind, the last list of a run. */
export type Listed = { readonly [kind in SubjectKind]?: readonly Facts[] };
type Known = Map<string, Map<string, Pick<FactChange, 'value' | 'secret'>>>;
const KEYS = { device: 'DeviceID', user: 'Email', service: 'ServiceID' } as const;

export class RecordedFacts {
  private readonly known: Record<SubjectKind, Known> = { device: new Map(), user: new Map(), service: new Map() };
  secrets = 0;

  apply(changes: readonly FactChange[]): void {
    for (const change of changes) applyTo(this.known[change.kind], change);
  }

  /** What the run saw otherwise. */
  differences({ frame, changes }: RecordedRun, listed: Listed): string[] {
    const lines: string[] = [];
    for (const kind of SUBJECT_KINDS) {
      const own = [...changes].filter((change) => change.kind === kind);
      const isAside = isMomentary(frame, kind);
      const seen = isAside ? copyOf(this.known[kind]) : this.known[kind];
      for (const change of own) applyTo(seen, change);
      const { state, form, reasons } = frame.sources[SOURCE_OF[kind]];
      const isWhole = state === 'read' && form !== 'single' && !reasons.some(({ code }) => CUT.has(code));
      const list = listed[kind];
      const shown = frame.shows.get(kind);
      if (isWhole && list && shown)
        for (const line of this.compare(kind, seen, shown, list))
          lines.push(`run ${frame.run.seq} saw ${kind} ${line}`);
    }
    return lines;
  }

  private compare(kind: SubjectKind, seen: Known, shown: ReadonlySet<string>, list: readonly Facts[]): string[] {
    const lines: string[] = [];
    const there = new Set<string>();
    for (const record of list) {
      const id = record[KEYS[kind]];
      if (typeof id !== 'string' || id === '' || there.has(id)) continue;
      there.add(id);
      const facts = [...(seen.get(id) ?? new Map())].filter(([path]) => shown.has(path));
      const secret = facts.filter(([, one]) => one.secret).map(([path]) => path);
      this.secrets += secret.length;
      const is: Facts = {};
      for (const [path, { value }] of facts) if (!secret.includes(path)) setAt(is, namesOf(path), value);
      const was = structuredClone(dropSecrets(record, new Set()));
      for (const path of secret) removeAt(was, namesOf(path));
      if (canonicalJson(was) !== canonicalJson(is))
        lines.push(`${id} as ${canonicalJson(was)}, recorded: ${canonicalJson(is)}`);
    }
    for (const id of seen.keys()) if (!there.has(id)) lines.push(`${id} not at all, and it is recorded`);
    return lines;
  }
}

const CUT: ReadonlySet<string> = new Set(['incomplete', 'shifted', 'too_many']);

function applyTo(known: Known, { subject, path, value, secret }: FactChange): void {
  if (path === '') {
    known.delete(subject);
    return;
  }
  const facts = known.get(subject) ?? new Map();
  known.set(subject, facts);
  if (value === undefined && !secret) facts.delete(path);
  else facts.set(path, { value, ...(secret && { secret }) });
}

function copyOf(known: Known): Known {
  return new Map([...known].map(([subject, facts]) => [subject, new Map(facts)]));
}

/** A name with a dot, or an empty one, is a JSON text. */
function namesOf(path: string): string[] {
  if (path.startsWith('"')) return [JSON.parse(path) as string];
  return path.split('.');
}

function setAt(record: Facts, names: readonly string[], value: Fact): void {
  const [name = '', ...rest] = names;
  if (rest.length === 0) record[name] = value;
  else {
    const part = record[name];
    const inner: Facts = isFacts(part) ? part : {};
    record[name] = inner;
    setAt(inner, rest, value);
  }
}

function removeAt(record: Facts, names: readonly string[]): void {
  const [name = '', ...rest] = names;
  const part = record[name];
  if (rest.length === 0) delete record[name];
  else if (isFacts(part)) {
    removeAt(part, rest);
    if (Object.keys(part).length === 0) delete record[name];
  }
}
