// history: the items of a stretch with the facts that its rule sets read, and no others: most of what changes no rule reads. In: a reader, what
// is needed of each run. Out: items. When a rule set needs more than was asked for, reading begins again at its first run.
import type { HistoryGap, HistoryItem, HistoryReader, RecordedRun } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { type LoadedRule, whenAgain } from '../../evaluate/index.ts';

export type WantedFacts = ReadonlyMap<SubjectKind, ReadonlySet<string>>;

/** `isAgain`: a run that was given before and began at the same moment as one that is still to come: its facts hold, and no more. */
export type ReadItem = Exclude<HistoryItem, { kind: 'run' }> | { kind: 'run'; run: RecordedRun; isAgain: boolean };

/** `needs`: what the rules of a run read. */
export async function* readOn(
  reader: HistoryReader,
  { fromMs, toMs }: { fromMs: number; toMs: number },
  needs: (run: RecordedRun) => Promise<WantedFacts>,
): AsyncIterable<ReadItem> {
  let facts: WantedFacts = new Map();
  let beginMs = fromMs;
  /** The run at which reading begins again. */
  let next: string | undefined;
  for (let isOver = false; !isOver; ) {
    isOver = true;
    let isAgain = next !== undefined;
    for await (const item of reader.items({ fromMs: beginMs, toMs, facts })) {
      if (item.kind !== 'run') {
        if (item.kind === 'state' || !isAgain || isAhead(item.gap, beginMs)) yield item;
        continue;
      }
      const { id, startedAt } = item.run.frame.run;
      isAgain = isAgain && id !== next;
      const more = isAgain ? facts : await needs(item.run);
      if (isWithin(more, facts)) {
        yield { ...item, isAgain };
        continue;
      }
      facts = both(facts, more);
      [beginMs, next, isOver] = [startedAt, id, false];
      break;
    }
  }
}

/** Whether it was not given by an earlier reading. All that was removed on people's behalf is named by the first one. */
function isAhead({ cause, fromMs }: HistoryGap, beginMs: number): boolean {
  return cause !== 'forgotten' && fromMs >= beginMs;
}

/** The paths that these rules and their actions read; the fields that identify subjects always come. */
export function factsOf(
  rules: readonly LoadedRule[],
  fieldsWritten: (kind: SubjectKind) => readonly string[],
): WantedFacts {
  const wanted = new Map<SubjectKind, Set<string>>();
  const add = (kind: SubjectKind, paths: Iterable<string>) => {
    const own = wanted.get(kind) ?? new Set();
    wanted.set(kind, own);
    for (const path of paths) own.add(path);
  };
  add('device', fieldsWritten('device'));
  add('user', [...fieldsWritten('user'), 'Groups']);
  for (const rule of rules) {
    const { subject, reads } = rule;
    add(subject, reads.record);
    add(
      subject,
      whenAgain(rule, 'v1').times.map(({ path }) => path.join('.')),
    );
    add('user', reads.users);
    add('device', reads.devices);
    // There are few services, and what is done to them shows their documents.
    if (subject === 'service') add('service', [...fieldsWritten('service'), 'ServiceSpec']);
  }
  return wanted;
}

function isWithin(some: WantedFacts, all: WantedFacts): boolean {
  return [...some].every(([kind, paths]) => {
    const known = all.get(kind);
    return known !== undefined && [...paths].every((path) => known.has(path));
  });
}

function both(one: WantedFacts, other: WantedFacts): WantedFacts {
  const kinds = new Set([...one.keys(), ...other.keys()]);
  return new Map([...kinds].map((kind) => [kind, new Set([...(one.get(kind) ?? []), ...(other.get(kind) ?? [])])]));
}
