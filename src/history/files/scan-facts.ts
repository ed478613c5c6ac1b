// history files: the facts of one group of rows, as changes. In: decoded columns, which facts are wanted. Out: a test of each row by its codes alone,
// and a change of those that are wanted.
import type { Fact } from '../../domain/facts.ts';
import type { FactChange } from '../../domain/recorded-history.ts';
import type { SubjectKind } from '../../domain/subjects.ts';
import { factOf, SECRET_TEXT } from '../fact-text.ts';
import { factKindOf } from '../rows.ts';
import type { DecodedGroup } from './segment-rows.ts';

export interface Wanted {
  fact(kind: SubjectKind, path: string): boolean;
  /** No fact is wanted. */
  noFacts?: boolean;
  /** Of rows that are no facts. */
  row(kind: string): boolean;
  /** Only rows of this subject; undefined: all. */
  subject?: string | undefined;
  /** Without facts of readings that were not trusted. */
  standingOnly?: boolean;
}

/** It is there, and was not recorded. */
const SECRET = Symbol('secret');

type Kept = Fact | typeof SECRET | undefined;

export class FactScan {
  readonly #group: DecodedGroup;
  /** By the code of a kind. */
  readonly #factKinds: readonly (SubjectKind | undefined)[];
  /** By the code of a kind, then by that of a path; of kinds that are no facts, by none. */
  readonly #wantedPaths: readonly (Uint8Array | undefined)[];
  readonly #isOther: readonly boolean[];
  /** By the code of a subject; undefined: all are wanted. */
  readonly #subjects: Uint8Array | undefined;
  /** Of a value that repeats, one fact: facts are never changed in place. */
  readonly #known = new Map<number, Kept>();

  constructor(group: DecodedGroup, wanted: Wanted) {
    const { kind, path, subject } = group;
    this.#group = group;
    this.#factKinds = kind.dictionary.map(factKindOf);
    this.#wantedPaths = kind.dictionary.map((name) => {
      const factKind = factKindOf(name);
      if (!factKind) return undefined;
      const isOut = wanted.standingOnly === true && name.startsWith('aside.');
      return Uint8Array.from(path.dictionary, (one) => (!isOut && wanted.fact(factKind, one) ? 1 : 0));
    });
    this.#isOther = kind.dictionary.map((name) => factKindOf(name) === undefined && wanted.row(name));
    const { subject: only } = wanted;
    if (only !== undefined) this.#subjects = Uint8Array.from(subject.dictionary, (one) => (one === only ? 1 : 0));
  }

  isFact(row: number): boolean {
    return this.#wantedPaths[this.#group.kind.codes[row] as number] !== undefined;
  }

  /** Of a fact. */
  isWanted(row: number): boolean {
    const { kind, path } = this.#group;
    const paths = this.#wantedPaths[kind.codes[row] as number] as Uint8Array;
    return paths[path.codes[row] as number] === 1 && this.#isOfSubject(row);
  }

  /** No fact, and wanted. */
  isOther(row: number): boolean {
    return (this.#isOther[this.#group.kind.codes[row] as number] as boolean) && this.#isOfSubject(row);
  }

  changeAt(row: number): FactChange {
    const { kind, subject, path } = this.#group;
    return changeOf(
      this.#factKinds[kind.codes[row] as number] as SubjectKind,
      subject.dictionary[subject.codes[row] as number] as string,
      path.dictionary[path.codes[row] as number] as string,
      this.#valueAt(row),
    );
  }

  #isOfSubject(row: number): boolean {
    return this.#subjects === undefined || this.#subjects[this.#group.subject.codes[row] as number] === 1;
  }

  #valueAt(row: number): Kept {
    const { codes, repeats, text } = this.#group.value;
    const code = codes[row] as number;
    if (code === -1) return undefined;
    if (!repeats) return readValue(text(code));
    let fact = this.#known.get(code);
    if (fact === undefined) {
      fact = readValue(text(code));
      this.#known.set(code, fact);
    }
    return fact;
  }
}

export function changeOf(kind: SubjectKind, subject: string, path: string, value: Kept): FactChange {
  return value === SECRET ? { kind, subject, path, value: undefined, secret: true } : { kind, subject, path, value };
}

export function readValue(text: string): Fact | typeof SECRET {
  return text === SECRET_TEXT ? SECRET : factOf(text);
}
