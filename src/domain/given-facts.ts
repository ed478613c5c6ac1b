// domain: facts from elsewhere. `sources.yaml` names sources of them, a part of the rule set as guards are; each is read on its own schedule into a
// table of facts by key, which runs join to their records. A row or value in doubt is left out of its table, so that it is unknown.
import { spanText } from '../base/time.ts';
import type { Facts } from './facts.ts';
import type { SecretPlace } from './secrets.ts';
import type { SubjectKind } from './subjects.ts';

/** What the rows are about, and the field of a record that has the key. Keys are folded by `nameKey`. */
export const GIVEN_KEYS = {
  serial_number: { kind: 'device', field: 'SerialNumber' },
  device_id: { kind: 'device', field: 'DeviceID' },
  email: { kind: 'user', field: 'Email' },
  service_id: { kind: 'service', field: 'ServiceID' },
} as const satisfies Record<string, { kind: SubjectKind; field: string }>;
export type GivenKey = keyof typeof GIVEN_KEYS;

/** As the language of rules knows them. A `time` is epoch ms in the table, whatever it was written in; a `flag` is "TRUE" or "FALSE". */
export const GIVEN_TYPES = ['text', 'version', 'number', 'boolean', 'flag', 'time', 'texts'] as const;
export type GivenType = (typeof GIVEN_TYPES)[number];

/** How a time is written: `iso` has its zone; `utc` is the same without one, known to be UTC. */
export const GIVEN_UNITS = ['iso', 'utc', 's', 'ms', 'us', 'ns'] as const;

export interface GivenField {
  /** In rules: `$facts.SOURCE.NAME`. */
  name: string;
  type: GivenType;
  /** The column, or the path of members. */
  from: string;
  /** Of a time. */
  unit?: (typeof GIVEN_UNITS)[number] | undefined;
  /** Of texts in one cell. */
  separator?: string | undefined;
}

export const GIVEN_FORMATS = ['csv', 'json', 'ndjson'] as const;
export type GivenFormat = (typeof GIVEN_FORMATS)[number];

/** How the next page is found: by the header Link, an address or token in the body, or the page's number. */
export type GivenPages =
  | { by: 'link' }
  | { by: 'url'; member: string }
  | { by: 'token'; member: string; parameter: string }
  | { by: 'number'; parameter: string; first: number };

export type GivenOrigin =
  | { by: 'file'; path: string; format: GivenFormat; list: string | undefined }
  | {
      by: 'http';
      url: string;
      format: GivenFormat;
      /** Where the rows are in the body; undefined: it is the list. */
      list: string | undefined;
      pages: GivenPages | undefined;
      /** `token`: the secret is `id:secret` of a client, exchanged for a bearer token there. */
      auth:
        | { scheme: string; secret: SecretPlace; token: { url: string; scope: string | undefined } | undefined }
        | undefined;
      timeoutMs: number;
    }
  | { by: 'postgres'; url: SecretPlace; query: string; timeoutMs: number };

export interface GivenSource {
  name: string;
  key: { is: GivenKey; from: string };
  fields: readonly GivenField[];
  /** Data older than this is stale: its facts are unknown. */
  freshMs: number;
  everyMs: number;
  rowsMax: number;
  origin: GivenOrigin;
}

/** One good reading of a source. */
export interface FactTable {
  source: string;
  /** Of the key, the fields and the origin that it was read by: a table of others is not one of this source. */
  meaning: string;
  /** Of keys and values: equal for equal rows in any order. */
  hash: string;
  /** The time that the data is of, epoch ms: when a file was written, else when it was asked for. */
  atMs: number;
  readAt: number;
  /** By the folded key. A value that is missing is left out; one of another type is `{}`. */
  rows: ReadonlyMap<string, Facts>;
  /** Folded keys that several rows have: none of these rows counts. */
  repeated: ReadonlySet<string>;
  /** Rows that were found, those without a key, and by field the values of another type. */
  found: { rows: number; keyless: number; wrong: Readonly<Record<string, number>> };
  /** The first ones, with the numbers of their rows. Names in it are as they came: escape it where it is shown. */
  problems: readonly string[];
}

/** A source as it stands: its last good table, and why a newer reading failed. */
export interface GivenReading<Table = FactTable> {
  source: GivenSource;
  table: Table | undefined;
  /** When it was last tried; undefined: never. */
  triedAt: number | undefined;
  fault: { text: string; sinceMs: number } | undefined;
}

/** What runs join to their records: the readings of these sources, by their names. */
export interface GivenFacts {
  readings(sources: readonly GivenSource[]): Promise<ReadonlyMap<string, GivenReading>>;
}

/** Why none of its facts counts; undefined: they do. */
export function doubtOf(
  { source, table, fault }: GivenReading<Pick<FactTable, 'atMs'>>,
  nowMs: number,
): string | undefined {
  const why = fault ? `: ${fault.text}` : '';
  if (!table) return fault ? `it could not be read${why}` : 'it has not been read yet';
  const ageMs = nowMs - table.atMs;
  if (ageMs <= source.freshMs) return undefined;
  return `its data is ${spanText(ageMs)} old, and may be ${spanText(source.freshMs)} old at most${why}`;
}
