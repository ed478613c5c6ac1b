// The codec: runs as rows, and runs again. What deciding rested on comes back as it was, run by run, to the last digit, whatever was the same in
// the runs before it and however they ended.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Fact } from '../../../src/domain/facts.ts';
import type { RecordedRun, RunFrame } from '../../../src/domain/recorded-history.ts';
import type { OpenState } from '../../../src/domain/store.ts';
import { SOURCES, type Source } from '../../../src/domain/subjects.ts';
import {
  Decoder,
  eachOf,
  factKindOf,
  type HistoryRow,
  holdOf,
  RunEncoder,
} from '../../../src/history/codec/run-encoder.ts';

const id = fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'a b');
const text = fc.constantFrom('', 'x', '"quoted"', '1e999', 'null', '😀', '\u0000', '__proto__');
const number = fc.constantFrom(0, 1, 1.5, 1e21, 2 ** 53, -1, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY);
const fact: fc.Arbitrary<Fact> = fc.oneof(
  text,
  number,
  fc.constantFrom<Fact[]>(null, true, 2n ** 63n, -(2n ** 70n), [2n ** 60n, 'a'], { a: 1 }),
);
/** Its members are of no concern to the codec. */
const noun = (own: string) =>
  fc.record({ id: fc.constant(own), at: number, facts: fc.dictionary(id, fact), gone: fc.constant(undefined) });
const nouns = fc.uniqueArray(id, { maxLength: 4 }).chain((ids) => fc.tuple(...ids.map(noun)));
const rollouts = fc
  .uniqueArray(id, { maxLength: 3 })
  .map((rules) => rules.toSorted((a, b) => (a < b ? -1 : 1)).map((rule) => ({ rule, step: 1, reversed: [rule] })));
const counts = fc.array(fc.tuple(id, fc.integer())).map((entries) => new Map(entries));
const openState = fc.record({
  ...{ episodes: nouns, claims: nouns, decisions: nouns, intents: nouns, exemptions: nouns },
  rejected: fc.array(id).map((keys) => new Set(keys)),
  lastAttempts: counts,
  attempts24h: counts,
  rollouts,
  stop: fc.option(fc.record({ at: number, by: text, reason: text }), { nil: undefined }),
}) as unknown as fc.Arbitrary<OpenState>;

const reading = (source: Source) =>
  fc.record({
    source: fc.constant(source),
    state: fc.constantFrom('read', 'skipped', 'failed'),
    form: fc.constantFrom('paged', 'unpaged'),
    trusted: fc.boolean(),
    count: fc.nat(),
    reasons: fc.array(fc.record({ source: fc.constant(source), code: fc.constant('shrunk'), text })),
  });
const sources = fc.record(Object.fromEntries(SOURCES.map((source) => [source, reading(source)])));
const paths = fc.array(fc.constantFrom('One', 'Two', 'Two.three', '"a.b"')).map((all) => new Set(all));

const frame = fc.record({
  steady: fc.record({ nowMs: number, sinceMs: number, forMs: number, jumpedMs: number, setBackMs: number }),
  quietMs: fc.nat(),
  freeze: fc.option(fc.record({ text, timeZone: text, endsAtMs: number }), { nil: undefined }),
  settings: fc.record({
    ceilings: fc.constantFrom({ run: { max: 1, percent: 5 } }, {}),
    credential: fc.option(text, { nil: undefined }),
  }),
  ...{
    activeRules: fc.array(id),
    judged: fc.array(id),
    unjudged: fc.array(id),
    unavailable: fc.subarray([...SOURCES]),
  },
  sources,
  decidedOn: fc.option(sources, { nil: undefined }),
  coverage: fc.array(fc.record({ fromMs: number, toMs: number })),
  bundles: fc.option(
    fc
      .array(
        fc.tuple(
          id,
          fc.array(id).map((all) => new Set(all)),
        ),
      )
      .map((all) => new Map(all)),
    { nil: undefined },
  ),
  shows: fc
    .uniqueArray(fc.tuple(fc.constantFrom('device', 'user', 'service'), paths), { selector: ([kind]) => kind })
    .map((all) => new Map(all)),
  eventsTo: fc.nat(),
  part: fc.option(
    fc.record({
      sinceSeq: fc.nat(),
      counted: fc.constant([]),
      attempts: counts,
      read: fc.constant([{ kind: 'device', id: 'a' }]),
    }),
    { nil: undefined },
  ),
}) as unknown as fc.Arbitrary<RunFrame>;

const run = fc.record({
  frame,
  openState,
  changes: fc.constant([]),
  events: fc.array(
    fc.record({ id, createdAtMs: number, email: fc.option(text, { nil: undefined }), body: fc.dictionary(id, fact) }),
  ),
  written: nouns,
  ended: fc.array(id),
}) as unknown as fc.Arbitrary<RecordedRun>;

/** Forms only ever show more, and the sets of rules are recorded when they change. */
function asRecorded(runs: readonly RecordedRun[], hashes: readonly string[]): RecordedRun[] {
  const known = new Map<string, Set<string>>();
  return runs.map((one, at) => {
    const shows = new Map(
      [...one.frame.shows].map(([kind, own]) => {
        const { form, trusted, state } = one.frame.sources[`${kind}s`];
        const before = known.get(`${kind} ${form}`) ?? new Set();
        const all = new Set([...before, ...own]);
        if (state === 'read' ? trusted : state !== 'failed') known.set(`${kind} ${form}`, all);
        return [kind, all];
      }),
    );
    const hash = hashes[at] ?? 'the last one';
    const isNew = at === 0 || hash !== (hashes[at - 1] ?? 'the last one');
    const frameOf = {
      ...one.frame,
      shows,
      run: { seq: at + 1, startedAt: at * 60_000, id: `run ${at}` } as RunFrame['run'],
    };
    const ruleSet = { hash, files: new Map([[`${hash}.yaml`, `id: "${hash}"\n`]]) };
    return { ...one, frame: frameOf, ...(isNew && { ruleSet }) };
  });
}

const runs = fc.tuple(fc.array(run, { maxLength: 5 }), fc.array(fc.constantFrom('one', 'two'), { maxLength: 5 }));

/** Standing rows, as the files fold them. */
function folded(rows: readonly HistoryRow[]): HistoryRow[] {
  const standing = new Map<string, HistoryRow>();
  for (const row of rows) {
    if (holdOf(row.kind) !== 'standing') continue;
    const key = (path: string) => JSON.stringify([row.kind, row.subject, path]);
    if (row.value === undefined && row.path === '') {
      for (const [other, one] of standing)
        if (one.kind === row.kind && one.subject === row.subject) standing.delete(other);
    } else if (row.value === undefined) standing.delete(key(row.path));
    else standing.set(key(row.path), row);
  }
  return [...standing.values()].reverse();
}

function rowsOf(encoder: RunEncoder, run: RecordedRun): HistoryRow[] {
  const rows: HistoryRow[] = [];
  const encoded = { ...run, changes: eachOf(run.changes), shows: () => run.frame.shows };
  encoder.encode(encoded, (seq, at, kind, subject, path, value) =>
    rows.push({ run: seq, at, kind, subject, path, value }),
  );
  return rows;
}

describe('a recorded run', () => {
  it('comes back from its rows as it was', () => {
    fc.assert(
      fc.property(runs, ([all, hashes]) => {
        const recorded = asRecorded(all, hashes);
        const [encoder, decoder] = [new RunEncoder(), new Decoder({ factsOnly: false })];
        for (const one of recorded) expect(decoder.run(rowsOf(encoder, one), [])).toEqual(one);
      }),
      { numRuns: 500 },
    );
  });

  it('comes back when both begin anew between two runs, from the rows that hold', () => {
    fc.assert(
      fc.property(runs, fc.nat(4), ([all, hashes], cut) => {
        const recorded = asRecorded(all, hashes);
        const first = new RunEncoder();
        const rows = recorded.slice(0, cut).flatMap((one) => rowsOf(first, one));
        const encoder = new RunEncoder();
        for (const row of folded(rows)) encoder.apply(row);
        const decoder = new Decoder({ factsOnly: false });
        decoder.begin(folded(rows));
        for (const one of recorded.slice(cut)) expect(decoder.run(rowsOf(encoder, one), [])).toEqual(one);
      }),
      { numRuns: 300 },
    );
  });

  it('is read without the open records that were removed on behalf of a person', () => {
    const removed = ['episode', 'claim', 'decision', 'intent', 'rejected', 'attempt'];
    fc.assert(
      fc.property(runs, ([all, hashes]) => {
        const encoder = new RunEncoder();
        const decoder = new Decoder({ factsOnly: false, hasForgotten: true });
        for (const one of asRecorded(all, hashes)) {
          const rows = rowsOf(encoder, one).filter(({ kind }) => !removed.includes(kind));
          const { frame, openState } = decoder.run(rows, []);
          expect(frame).toEqual(one.frame);
          expect([openState.episodes, openState.claims, openState.decisions, openState.intents]).toEqual([
            [],
            [],
            [],
            [],
          ]);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('that is like the one before it takes no rows but its frame and its number', () => {
    fc.assert(
      fc.property(run, (one) => {
        const [before, next] = asRecorded([one, one], ['one', 'one']) as [RecordedRun, RecordedRun];
        const encoder = new RunEncoder();
        rowsOf(encoder, before);
        const kinds = new Set(rowsOf(encoder, { ...next, events: [], written: [], ended: [] }).map(({ kind }) => kind));
        expect([...kinds].sort()).toEqual(['run', 'setting']);
      }),
    );
  });

  it('names its facts by kind, aside where the reading is not trusted', () => {
    fc.assert(
      fc.property(run, (one) => {
        const [own] = asRecorded([one], []) as [RecordedRun];
        const changes = (['device', 'user', 'service'] as const).map((kind) => ({
          kind,
          subject: 's',
          path: 'One',
          value: 1n,
        }));
        const rows = rowsOf(new RunEncoder(), { ...own, changes }).filter(({ kind }) => factKindOf(kind) !== undefined);
        const trusted = changes.map(({ kind }) => {
          const { state, trusted: is } = own.frame.sources[`${kind}s`];
          return (state === 'read' ? is : state !== 'failed') ? kind : `aside.${kind}`;
        });
        expect(rows.map(({ kind }) => kind)).toEqual(trusted);
      }),
    );
  });
});
