// explain: records as they were at a time: a subject's own, and those that rules join to it. In: the history, a subject, a time. Out: records
// put together from recorded facts. The platform is not asked.
import { AppError } from '../../domain/errors.ts';
import { type Fact, type Facts, ownText, ownTexts } from '../../domain/facts.ts';
import type { IdentityReader } from '../../domain/identity.ts';
import type { HistoryReader, RunFrame } from '../../domain/recorded-history.ts';
import type { SubjectKind, SubjectRef } from '../../domain/subjects.ts';
import { timeText } from '../../domain/time-text.ts';
import type { Joins, Needs } from '../../domain/verdict.ts';
import { keysOf, setAt } from '../../history/replay/recorded-record.ts';
import type { Moment } from './moment.ts';

/** A user has few devices, and a device few owners. */
const JOINED_MAX = 50;

export interface RecordAt {
  record: Facts;
  /** The same as the readings of a run showed it: they may lack paths. */
  shownTo(frame: Pick<RunFrame, 'shows'>): Facts;
  /** When the last run before that time began that read it. */
  seenAtMs: number;
}

/** Undefined: it was in no list. */
export async function recordAt(
  history: HistoryReader,
  subject: SubjectRef,
  atMs: number,
): Promise<RecordAt | undefined> {
  const found = await history.factsAt(subject, atMs);
  if (found === undefined) return undefined;
  const facts = Object.entries(found.facts);
  return {
    record: recordOf(facts),
    shownTo: ({ shows }) => {
      const paths = shows.get(subject.kind);
      return recordOf(paths ? facts.filter(([path]) => paths.has(path)) : facts);
    },
    seenAtMs: found.seenAt,
  };
}

function recordOf(facts: readonly [string, Fact][]): Facts {
  const record: Facts = {};
  for (const [path, value] of facts) setAt(record, keysOf(path), value);
  return record;
}

/** Errors: AppError `not_found` in plain words. */
export async function demandRecordAt(
  history: HistoryReader,
  { kind, id }: SubjectRef,
  atMs: number,
  { run, forgotten }: Pick<Moment, 'run' | 'forgotten'>,
): Promise<RecordAt> {
  const found = await recordAt(history, { kind, id }, atMs);
  if (found) return found;
  const text = `${kind} \`${id}\` was in no list at ${timeText(atMs)}, as recorded by run ${run.frame.run.seq}`;
  const removed = forgotten.map((gap) => gap.text).join('; ');
  throw new AppError(
    'not_found',
    removed === '' ? text : `${text}; or its records are those that were removed: ${removed}`,
  );
}

/** What rules read of other records. One that is not recorded is missing, as a user is that the API does not have. */
export async function joinsAt(
  { history, reader }: { history: HistoryReader; reader: IdentityReader },
  needs: Pick<Needs, 'owners' | 'devices'>,
  { kind, record, atMs }: { kind: SubjectKind; record: Facts; atMs: number },
): Promise<Joins> {
  const users = new Map<string, Facts>();
  const devices = new Map<string, Facts[]>();
  if (kind === 'device' && needs.owners) {
    for (const email of (ownTexts(record, 'Emails') ?? []).slice(0, JOINED_MAX)) {
      const user = await recordAt(history, { kind: 'user', id: email }, atMs);
      if (user) users.set(email.toLowerCase(), user.record);
    }
  }
  if (kind === 'user' && needs.devices) {
    for (const serial of (ownTexts(record, 'SerialNumbers') ?? []).slice(0, JOINED_MAX))
      devices.set(serial, await devicesAt({ history, reader }, serial, atMs));
  }
  return { users, devices };
}

/** All devices of a serial number: identities know their ids, also of those that are gone. */
export async function devicesAt(
  { history, reader }: { history: HistoryReader; reader: IdentityReader },
  serial: string,
  atMs: number,
): Promise<Facts[]> {
  const known = (await reader.identitiesNamed(serial)).filter(
    ({ identity, by }) => identity.kind === 'device' && by === 'serial',
  );
  const records: Facts[] = [];
  for (const { identity } of known.slice(0, JOINED_MAX)) {
    const device = await recordAt(history, { kind: 'device', id: identity.id }, atMs);
    if (device && ownText(device.record, 'SerialNumber') === serial) records.push(device.record);
  }
  return records;
}
