// run: the groups of owners, which v2 lists do not have, for exemptions of a group. In: what matched, and the fleet. Out: the records of the
// users concerned, read one by one. A dry run then says what preflight would, which reads the same records.
import type { Exemptions } from '../decide/exemptions.ts';
import { AppError, lineOf } from '../domain/errors.ts';
import type { Facts } from '../domain/facts.ts';
import type { Fleet } from '../domain/fleet.ts';
import type { Api } from '../domain/ports.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import { groupsOf } from '../domain/target.ts';
import type { Judgement } from '../domain/verdict.ts';
import { projectedOwner } from './kept-records.ts';
import { RECORDS_MAX, readEach } from './single-reads.ts';

/** Users that are looked up for one run. */
const USERS_MAX = 5_000;

/**
 * Adds the owners of what matches to `owners`, and their groups to matched users. Returns why they could not be read. Errors: AppError
 * `api_refused` and `stopped`.
 */
export async function readGroups(
  api: Pick<Api, 'user'>,
  judgements: readonly Judgement[],
  fleet: Fleet,
  exemptions: Exemptions,
  owners: Map<string, Facts>,
): Promise<string | undefined> {
  const summaries = judgements.flatMap(({ matches }) => matches.map(({ summary }) => summary));
  const emails = summaries.flatMap(({ kind, id, serial, owners: own }) => {
    if (kind === 'user') return [id];
    return kind === 'device' ? [...(own ?? []), ...fleet.devicesOf(serial).flatMap((each) => each.owners ?? [])] : [];
  });
  const wanted = new Set(emails.map((email) => email.toLowerCase()));
  if (wanted.size > USERS_MAX) return `there are ${wanted.size} of them, and at most ${USERS_MAX} are read one by one`;
  const read = await readEach(wanted, async (email) => [email, await api.user(email, RECORDS_MAX)] as const).catch(
    reason,
  );
  if (typeof read === 'string') return read;
  const found = new Map(read);
  for (const [email, user] of read) if (user && exemptions.concernsUser(user)) owners.set(email, projectedOwner(user));
  for (const summary of summaries) {
    const user = summary.kind === 'user' ? found.get(summary.id.toLowerCase()) : undefined;
    if (user) summary.groups = groupsOf(user);
  }
  return undefined;
}

function reason(error: unknown): string {
  if (!(error instanceof AppError) || error.code === 'api_refused' || error.code === 'stopped') throw error;
  return lineOf(error);
}

/** A list that was read, and that nothing is done on. */
export function unreadGroups(reading: SourceReading, why: string): SourceReading {
  if (reading.state !== 'read') return reading;
  const { source } = reading;
  const text = `${source}: v2 lists have no groups, and those of the users who may be exempt could not be read: ${why}`;
  return { ...reading, trusted: false, reasons: [...reading.reasons, { source, code: 'incomplete', text }] };
}
