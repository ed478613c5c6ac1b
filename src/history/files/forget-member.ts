// history files: one subject among the members of exemptions, which are prints: nobody is named there, but whoever guesses an id can ask whether it is
// one. In: a folder, a subject. Out: rows of members without it. A print has the serial number, too: all those that the history has are tried.
import { type ExemptionMember, ExemptionMembers } from '../../domain/exemption-members.ts';
import { FIELDS } from '../../domain/identity.ts';
import type { SubjectRef } from '../../domain/subjects.ts';
import { factKindOf, type HistoryRow } from '../rows.ts';
import { type SegmentColumns, UnreadableSegment } from './segment-columns.ts';
import { listHistory, readSegment } from './segment-files.ts';

export function hasMembers({ groups }: SegmentColumns): boolean {
  return groups.some((group) => group.kind().dictionary.includes('members'));
}

export class ForgottenMember {
  private all: ExemptionMember[] | undefined;
  /** By exemption and members: many files have the same ones. */
  private readonly known = new Map<string, string>();

  constructor(
    private readonly subject: SubjectRef,
    private readonly folder: string,
  ) {}

  /** The same row when the subject is not among its members. */
  without(row: HistoryRow): HistoryRow {
    if (row.kind !== 'members' || row.value === undefined) return row;
    const key = `${row.subject} ${row.value}`;
    const value = this.known.get(key) ?? this.valueWithout(row.subject, row.value);
    this.known.set(key, value);
    return value === row.value ? row : { ...row, value };
  }

  private valueWithout(exemption: string, value: string): string {
    const members = ExemptionMembers.of(exemption, JSON.parse(value) as string);
    this.all ??= membersOf(this.subject, this.folder);
    const left = members.without(this.all);
    return left === members ? value : JSON.stringify(left.packed());
  }
}

function membersOf({ kind, id }: SubjectRef, folder: string): ExemptionMember[] {
  if (kind === 'service') return [{ kind, id, serial: '' }];
  return ['', ...serialsIn(folder)].map((serial) => ({ kind, id, serial }));
}

function serialsIn(folder: string): Set<string> {
  const serials = new Set<string>();
  for (const segment of listHistory(folder).segments) {
    try {
      for (const text of textsIn(readSegment(segment))) serials.add(text);
    } catch (error) {
      // It is named where it is to be written again.
      if (!(error instanceof UnreadableSegment)) throw error;
    }
  }
  return serials;
}

function* textsIn({ groups }: SegmentColumns): Generator<string> {
  for (const group of groups) {
    const [kind, path] = [group.kind(), group.path()];
    const serial = path.dictionary.indexOf(FIELDS.device[1] as string);
    if (serial === -1) continue;
    const isDevice = kind.dictionary.map((one) => factKindOf(one) === 'device');
    const { codes, text } = group.value();
    for (let row = 0; row < group.rows; row++) {
      const code = codes[row] as number;
      if (path.codes[row] !== serial || code === -1 || !isDevice[kind.codes[row] as number]) continue;
      const value: unknown = JSON.parse(text(code));
      if (typeof value === 'string') yield value;
    }
  }
}
