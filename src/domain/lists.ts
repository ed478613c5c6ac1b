// domain: from which lists devices and users are read, and which facts version 2 has. In: nothing. Out: one table, in the names of version 1,
// which rules use. Reading it downwards maps a record; reading it upwards shows which facts are lost. A fact that is not here is absent
// from a mapped record and unknown for every rule: no default ever stands for it.

export const LISTS = ['v1', 'v2'] as const;
export type Lists = (typeof LISTS)[number];

/**
 * What a field of version 2 must be; anything else is absent. `boolean`: also 0 or 1. `flag`: the same, `"TRUE"` or `"FALSE"` in version 1. `time`: nanoseconds,
 * or 0 for never. `texts`: a list of texts alone.
 */
export type V2Type = 'text' | 'flag' | 'boolean' | 'time' | 'texts';

interface V2Fact {
  v1: string;
  v2: string;
  as: V2Type;
}

export const V2_FACTS: Readonly<Record<'devices' | 'users', readonly V2Fact[]>> = {
  devices: [
    { v1: 'DeviceID', v2: 'id', as: 'text' },
    { v1: 'SerialNumber', v2: 'serial_number', as: 'text' },
    { v1: 'DeviceFriendlyName', v2: 'name', as: 'text' },
    { v1: 'Ownership', v2: 'ownership', as: 'text' },
    { v1: 'Platform', v2: 'platform', as: 'text' },
    { v1: 'Model', v2: 'model', as: 'text' },
    { v1: 'Architecture', v2: 'architecture', as: 'text' },
    { v1: 'OS', v2: 'os', as: 'text' },
    { v1: 'AppVersion', v2: 'app_version', as: 'text' },
    { v1: 'Banned', v2: 'banned', as: 'flag' },
    { v1: 'TrustData.Level', v2: 'trust_level', as: 'text' },
    { v1: 'Roles', v2: 'role_names', as: 'texts' },
    { v1: 'Emails', v2: 'extra_details.emails', as: 'texts' },
    { v1: 'CreatedAt', v2: 'created_at', as: 'time' },
    { v1: 'LastLogin', v2: 'last_login', as: 'time' },
    { v1: 'IsMDMPresent', v2: 'mdm_present', as: 'boolean' },
    { v1: 'MDMVendorName', v2: 'mdm_vendor_name', as: 'text' },
  ],
  users: [
    { v1: 'Email', v2: 'email', as: 'text' },
    { v1: 'Name', v2: 'name', as: 'text' },
    { v1: 'CreatedAt', v2: 'created_at', as: 'time' },
    { v1: 'LastLogin', v2: 'last_login', as: 'time' },
  ],
};

/** Whether lists of this version have the fact at a path of version 1, or a list that the path leads into. */
export function listsHave(lists: Lists, source: 'devices' | 'users', path: string): boolean {
  return lists === 'v1' || V2_FACTS[source].some(({ v1 }) => path === v1 || path.startsWith(`${v1}.`));
}

/** The name of a fact in v2 lists; undefined when they do not have it. */
export function nameInV2(source: 'devices' | 'users', path: string): string | undefined {
  return V2_FACTS[source].find(({ v1 }) => v1 === path)?.v2;
}

/** The reason of an unknown fact, wherever it is shown. */
export function notInLists(path: string): string {
  return `\`${path}\` is not in v2 lists`;
}

/** ``rule `x` reads `MdmData.CompromisedStatus`, which v2 lists do not have: it is unknown for every device``. */
export function lostFactsText(rule: string, subject: string, paths: readonly string[]): string {
  const named = paths.map((path) => `\`${path}\``).join(', ');
  const verb = paths.length === 1 ? 'it is' : 'they are';
  return `rule \`${rule}\` reads ${named}, which v2 lists do not have: ${verb} unknown for every ${subject}`;
}

// A piece of a list, unparsed.

/** A whole page, or elements with commas between them. */
export interface ListPiece {
  source: 'devices';
  lists: Lists;
  form: 'page' | 'elements';
  /** Its place in the list, counted in pieces: about the same records, reading after reading. */
  at: number;
  /** Pages overlap by one record: all but the first repeat the last one of the page before. */
  isFirst: boolean;
  /** Not to be used once the piece was handed to its reader. */
  bytes: Uint8Array<ArrayBuffer>;
}

/** Some records of a piece. */
export interface RecordBatch {
  records: unknown[];
  /** That they were parsed from, perhaps with more of the piece around them. */
  bytes: Uint8Array;
}

export interface PieceRead<T> {
  /** Of its records, also of the repeated one. */
  count: number;
  /** What identifies its first and last record; undefined without records. */
  first: string | undefined;
  last: string | undefined;
  /** The server's count, in a page. */
  total: number | undefined;
  result: T;
}
