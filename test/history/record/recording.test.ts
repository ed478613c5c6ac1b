// history: recording compares each reading with what was recorded last, which is kept packed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type FactPack,
  FactPacker,
  factText,
  packRecords,
  SECRET_TEXT,
  unpackChanged,
} from '../../../src/domain/fact-packs.ts';
import { FactPaths } from '../../../src/domain/fact-prints.ts';
import type { Fact, Facts } from '../../../src/domain/facts.ts';
import type { FactChange } from '../../../src/domain/look-back.ts';
import type { RecordForm, SeenSubjects } from '../../../src/domain/recorded-history.ts';
import { skippedReading } from '../../../src/engine/pull/pull-source.ts';
import { RecordPass } from '../../../src/engine/pull/record-pass.ts';
import { type EachChange, factOf } from '../../../src/history/codec/run-encoder.ts';
import type { RowsAhead } from '../../../src/history/files/segment-bytes.ts';
import { type Range, readStanding, writeStanding } from '../../../src/history/files/standing-file.ts';
import { changeOf, Recording } from '../../../src/history/record/folder-recording.ts';
import { LastFacts, SAVED_LISTS, type SavedFacts, type SavedList } from '../../../src/history/record/last-facts.ts';
import { SubjectDiffer } from '../../../src/history/record/subject-differ.ts';
import { PRINT_KEY } from '../../support/print-key.ts';

const value: fc.Arbitrary<Fact> = fc.oneof(
  fc.constantFrom<Fact[]>('TRUE', 'FALSE', '', null, true, false, 0, 1, 1n, 2n ** 60n, -(2n ** 60n), 2n ** 80n, 1.5),
  fc.constantFrom<Fact[]>(Number.POSITIVE_INFINITY, [], {}, ['a', 'b'], ['a', ['b']], [{ a: 1 }, { a: 2n }]),
);
const nested: fc.Arbitrary<Fact> = fc.oneof(
  value,
  fc.dictionary(fc.constantFrom('x', 'y', 'a.b', '', '"q'), value, { maxKeys: 3 }),
  fc.dictionary(fc.constantFrom('x', 'y'), fc.dictionary(fc.constantFrom('deep', 'er'), value), { maxKeys: 2 }),
);
const fields = ['One', 'Two', 'Three', 'with.dot', '', '"quoted', '__proto__'];
/** Fields that only some forms show. */
const hiddenIn: Record<RecordForm, readonly string[]> = {
  paged: ['Three'],
  unpaged: [],
  single: ['Two'],
  'paged v2': ['One', 'Three'],
  'unpaged v2': [],
};
const record = fc
  .dictionary(fc.constantFrom(...fields), nested, { maxKeys: 5, noNullPrototype: false })
  .map((own): Facts => ({ ...own }));
const fleet = fc.dictionary(fc.constantFrom('d1', 'd2', 'd3', 'd4'), record, { noNullPrototype: false });

const forms = fc.constantFrom<RecordForm[]>('paged', 'unpaged', 'paged v2');
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ form: forms, fleet, isTrusted: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ form: fc.constant<RecordForm>('single'), fleet, isTrusted: fc.constant(true) }) },
);

function reading(form: RecordForm, isTrusted: boolean): SeenSubjects['reading'] {
  const [own, lists] = form.split(' ') as ['paged', 'v2'?];
  return { ...skippedReading('devices', 0), state: 'read', form: own, ...(lists && { lists }), trusted: isTrusted };
}

function shownBy(form: RecordForm, id: string, own: Facts): Facts {
  const shown = Object.entries(own).filter(([key]) => !hiddenIn[form].includes(key));
  return { DeviceID: id, ...Object.fromEntries(shown) };
}

/** Facts by path, as a record has them and a file gives them back: an integer is a bigint only where no number has all its digits. */
function leavesOf(one: Facts): Map<string, Fact> {
  const leaves = new Map<string, Fact>();
  new FactPaths(PRINT_KEY).walk(one, (path, _print, fact) => {
    leaves.set(path.text, factOf(factText(fact)));
  });
  return leaves;
}

function apply(world: Map<string, Map<string, Fact>>, changes: readonly FactChange[]): void {
  for (const { subject, path, value: fact } of changes) {
    const own = world.get(subject) ?? new Map<string, Fact>();
    world.set(subject, own);
    if (path === '') world.delete(subject);
    else if (fact === undefined) own.delete(path);
    else own.set(path, fact);
  }
}

const copyOf = (world: Map<string, Map<string, Fact>>) => new Map([...world].map(([id, own]) => [id, new Map(own)]));

function seenBy(world: Map<string, Map<string, Fact>>, shows: ReadonlySet<string>, ids: Iterable<string>) {
  return new Map([...ids].map((id) => [id, new Map([...(world.get(id) ?? [])].filter(([path]) => shows.has(path)))]));
}

const NOW = 1_800_000_000_000;
/** As a pass sees them that is recorded. */
type Recorded = NonNullable<ReturnType<RecordPass['finish']>['records']>;

function changesOf(each: EachChange): FactChange[] {
  const all: FactChange[] = [];
  each((kind, subject, path, value) => all.push({ kind, subject, ...changeOf({ path, value }) }));
  return all;
}

describe('what is folded from recorded changes', () => {
  it('is what every run read, whatever form it read, and whether it was trusted', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const differ = new SubjectDiffer('device', PRINT_KEY);
        const world = new Map<string, Map<string, Fact>>();
        for (const { form, fleet: of, isTrusted } of steps) {
          const pass = new RecordPass(differ.presentPrints(form), 'device', NOW, PRINT_KEY);
          const records = Object.entries(of).map(([id, own]) => shownBy(form, id, own));
          for (const one of records) pass.accept(one);
          const { changed, prints } = pass.finish().records as Recorded;
          const seen = { kind: 'device', reading: reading(form, isTrusted) } as const;
          const isList = form !== 'single';
          const diff = differ.diff({
            ...seen,
            changed: isList ? changed : [packRecords(records)],
            prints: isList ? prints : undefined,
          });
          const own = isTrusted ? world : copyOf(world);
          apply(own, changesOf(diff.changes));
          const read = new Map(records.map((one) => [String(one.DeviceID), leavesOf(one)]));
          expect(seenBy(own, diff.shows(), isList ? own.keys() : read.keys())).toEqual(read);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('is nothing for a reading that shows what was recorded', () => {
    fc.assert(
      fc.property(fleet, forms, (of, form) => {
        const differ = new SubjectDiffer('device', PRINT_KEY);
        const turn = () => {
          const pass = new RecordPass(differ.presentPrints(form), 'device', NOW, PRINT_KEY);
          for (const [id, own] of Object.entries(of)) pass.accept(shownBy(form, id, own));
          const { changed, prints } = pass.finish().records as Recorded;
          const { changes } = differ.diff({ kind: 'device', reading: reading(form, true), changed, prints });
          return { changed: [...changed], changes: changesOf(changes) };
        };
        turn();
        expect(turn()).toEqual({ changed: [], changes: [] });
      }),
    );
  });
});

describe('events', () => {
  it('are recorded anew when a restored store gives their numbers to others', () => {
    const recording = new Recording(PRINT_KEY);
    recording.eventsTo = { seq: 7, eventsTo: 100 };
    expect(recording.eventsAfter({ seq: 8, eventsTo: 130 })).toBe(100);
    expect(recording.eventsAfter({ seq: 8, eventsTo: 90 })).toBe(0);
    expect(recording.eventsAfter({ seq: 5, eventsTo: 130 })).toBe(0);
  });
});

describe('a list that is recorded ahead of its run', () => {
  const of = (id: string) => [packRecords([{ DeviceID: id, Platform: 'iOS' }])];
  const rows = (add: () => void) => ({ add, discard: () => {} }) as unknown as RowsAhead;
  const run = (ahead: number): never =>
    ({ seen: [{ kind: 'device', reading: reading('paged', true), changed: [], prints: undefined, ahead }] }) as never;

  it('is not taken for whole when a part of it could not be written', () => {
    const recording = new Recording(PRINT_KEY);
    const full = () => {
      throw new Error('full');
    };
    recording.ahead('device', of('a'), true, () => rows(() => {}));
    for (const [id, add] of [
      ['b', full],
      ['c', () => {}],
    ] as const) {
      const one = () => recording.ahead('device', of(id), false, () => rows(add));
      Object.assign(recording.rowsAhead('device'), { add });
      if (add === full) expect(one).toThrow('full');
      else one();
    }
    expect(() => recording.take(run(3), [])).toThrow('not all there');
  });

  it('is refused once something of its kind is recorded', () => {
    const recording = new Recording(PRINT_KEY);
    recording.differs.device.load('a', [{ path: 'Platform', value: 'iOS' }]);
    expect(() => recording.ahead('device', of('a'), true, () => rows(() => {}))).toThrow('no first list');
    expect(recording.differs.device.last.size).toBe(1);
  });

  it('begins anew when it is read anew', () => {
    const recording = new Recording(PRINT_KEY);
    for (const id of ['a', 'b']) recording.ahead('device', of(id), true, () => rows(() => {}));
    expect([...recording.differs.device.last.all()]).toEqual(['b']);
  });
});

describe('a pack of facts', () => {
  it('has nothing of a secret whose name has a dot', () => {
    const packer = new FactPacker('device', new FactPaths(PRINT_KEY));
    packer.add({ DeviceID: 'a', 'private.key': 'Abc12345xyz' });
    const { texts, prints } = unpackChanged(packer.pack()) as FactPack;
    expect(Buffer.from(texts).toString()).toBe(`"a"${SECRET_TEXT}`);
    expect([...prints.subarray(4)]).toEqual([0, 0, 0, 0]);
  });
});

describe('What was recorded last is packed', () => {
  /** More than a path has numbers for. */
  const MANY = 6_000;
  /** Values by path: of few, of two with the same first words, and of many. */
  const values = (turn: number): number[][] => [
    [turn % 7, -1, 3, 4],
    [5, 6, 7, turn % 2],
    [turn | 0x8000_0000, turn, -turn, 1],
  ];

  const PATHS = [
    [-1, 'One'],
    [-1, 'Two'],
    [1, 'Three'],
  ] as const;
  const folder = mkdtempSync(join(tmpdir(), 'last-facts-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('gives each subject the values that it was given, also from the disk, and the print of those that a form shows', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            id: fc.integer({ min: 0, max: 40 }),
            turn: fc.nat(),
            has: fc.subarray([0, 1, 2]),
            saved: fc.constantFrom(undefined, undefined, 'moved', 'restored'),
          }),
        ),
        fc.boolean(),
        (steps, isFull) => {
          let last = new LastFacts(FactPaths.ofMembers(PRINT_KEY, [...PATHS]));
          const all = [0, 1, 2];
          /** It shows a part of each subject. */
          const form = new Set([0, 2]);
          const nameOf = (id: number) => (id % 2 === 0 ? `${id}` : `${id} 名前`);
          const set = (id: string, turn: number, has: number[]) =>
            last.set(id, {
              paths: Uint32Array.from(has),
              values: Int32Array.from(has.flatMap((no) => values(turn)[no] as number[])),
            });
          if (isFull) for (let turn = 0; turn < MANY; turn += 1) set(`many ${turn % 50}`, turn, all);
          const expected = new Map<string, { turn: number; has: number[] }>();
          for (const { id: no, turn, has, saved } of steps) {
            const id = nameOf(no);
            expected.set(id, { turn, has });
            if (has.length === 0) expected.delete(id);
            if (has.length === 0) last.delete(id);
            else set(id, turn, has);
            if (saved) last = saveIn(folder, last, saved);
            const [asked] = expected.keys();
            if (asked !== undefined) last.printOf(form)(asked, new Int32Array(4));
          }
          const prints = last.prints(form);
          const inOrder = new Map([...last.all()].map((id, at) => [id, [...prints.subarray(4 * at, 4 * at + 4)]]));
          const printOf = last.printOf(form);
          const print = new Int32Array(4);
          for (const [id, { turn, has }] of expected) {
            const { paths, values: found } = last.get(id) ?? {};
            expect([[...(paths ?? [])], [...(found ?? [])]]).toEqual([
              has,
              has.flatMap((no) => Int32Array.from(values(turn)[no] as number[])).flatMap((one) => [...one]),
            ]);
            const shown = has.filter((no) => no !== 1).map((no) => values(turn)[no] as number[]);
            const sums = [0, 1, 2, 3].map((word) => shown.reduce((sum, one) => (sum + (one[word] as number)) | 0, 0));
            printOf(id, print);
            expect([...print]).toEqual(sums);
            expect(inOrder.get(id)).toEqual(sums);
          }
          for (let no = 0; no <= 40; no += 1)
            if (!expected.has(nameOf(no))) expect(last.get(nameOf(no))).toBeUndefined();
          expect(last.prints(new Set(all)).length).toBe(4 * last.size);
        },
      ),
      { numRuns: 20 },
    );
  });
});

/** What it is when it was saved: the same, moved to the disk, or what another process reads there. */
function saveIn(folder: string, last: LastFacts, how: 'moved' | 'restored'): LastFacts {
  const made = writeStanding(
    folder,
    last.saved,
    SAVED_LISTS.map((list) => [list, last.list(list)]),
  );
  if (how === 'restored') {
    const file = readStanding(folder);
    if (!file) throw new Error('it is not whole');
    return LastFacts.restored(PRINT_KEY, file.data as SavedFacts, file.source, file.lists as Record<SavedList, Range>);
  }
  last.moved(made.source, made.lists.values as Range);
  return last;
}
