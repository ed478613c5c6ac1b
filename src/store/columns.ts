// store: a noun's fields and the columns that have them, in one table: the columns of its statements, its row, and the noun of a row.
import { canonicalJson } from '../base/json.ts';
import type { Row, Value } from './queries.ts';
import { storedJson } from './stored-json.ts';

/** How a field is written and read. */
interface Column {
  names: readonly string[];
  write(row: Row, value: unknown): void;
  read(row: Row): unknown;
  /** A noun without a value has no such field at all. */
  isLeftOut?: true;
}

/** A column of its own value, by name; a missing value is null. */
function plain(name: string): Column {
  return {
    names: [name],
    write: (row, value) => {
      row[name] = (value ?? null) as Value;
    },
    read: (row) => row[name] ?? undefined,
  };
}

export function flag(name: string): Column {
  return {
    names: [name],
    write: (row, value) => {
      row[name] = value ? 1 : 0;
    },
    read: (row) => row[name] === 1,
  };
}

/** Canonical, so that equal values are equal bytes. Errors of reading: AppError `store_damaged`. */
export function json(name: string): Column {
  return {
    names: [name],
    write: (row, value) => {
      row[name] = canonicalJson(value);
    },
    read: (row) => storedJson(row[name]),
  };
}

/** The same, of a field that a noun may not have. */
export function optionalJson(name: string): Column {
  const { names } = json(name);
  return {
    names,
    write: (row, value) => {
      row[name] = value ? canonicalJson(value) : null;
    },
    read: (row) => (typeof row[name] === 'string' ? storedJson(row[name]) : undefined),
    isLeftOut: true,
  };
}

export function leftOut(column: string | Column): Column {
  return { ...(typeof column === 'string' ? plain(column) : column), isLeftOut: true };
}

/** An object whose members have a column each; undefined where the first of them is null. */
export function members(names: { readonly [member: string]: string }): Column {
  const all = Object.entries(names);
  const columns = all.map(([, name]) => name);
  return {
    names: columns,
    write: (row, value) => {
      for (const [member, name] of all) row[name] = (value as Row | undefined)?.[member] ?? null;
    },
    read: (row) =>
      row[columns[0] as string] === null
        ? undefined
        : Object.fromEntries(all.map(([member, name]) => [member, row[name]])),
  };
}

type Fields<Noun> = { readonly [Key in keyof Required<Noun>]: string | Column };

/** Its fields are in the order in which a noun has them. */
export class Columns<Noun extends object> {
  private readonly fields: readonly (readonly [string, Column])[];

  constructor(private readonly of: Fields<Noun>) {
    this.fields = Object.entries<string | Column>(of).map(([key, column]) => [
      key,
      typeof column === 'string' ? plain(column) : column,
    ]);
  }

  get names(): string[] {
    return this.fields.flatMap(([, { names }]) => names);
  }

  rowOf(noun: Noun): Row {
    const row: Row = {};
    for (const [key, column] of this.fields) column.write(row, (noun as { [key: string]: unknown })[key]);
    return row;
  }

  /** Errors: AppError `store_damaged`. */
  readonly nounOf = (row: Row): Noun => {
    const noun: { [key: string]: unknown } = {};
    for (const [key, column] of this.fields) {
      const value = column.read(row);
      if (value !== undefined || !column.isLeftOut) noun[key] = value;
    }
    return noun as Noun;
  };

  without<Key extends keyof Noun>(...keys: Key[]): Columns<Omit<Noun, Key>> {
    const kept = Object.entries(this.of).filter(([key]) => !keys.includes(key as Key));
    return new Columns(Object.fromEntries(kept) as Fields<Omit<Noun, Key>>);
  }

  only<Key extends keyof Noun>(...keys: Key[]): Columns<Pick<Noun, Key>> {
    const kept = Object.entries(this.of).filter(([key]) => keys.includes(key as Key));
    return new Columns(Object.fromEntries(kept) as Fields<Pick<Noun, Key>>);
  }
}
