// domain: one subject by its kind and id, as an address or an alert names it. In: a kind and an id. Out: what is known of it. An id goes
// before every other name, and a subject that lists no longer show is known by what was decided about it.
import type { Identity, IdentityReader } from './identity.ts';
import type { RecordReader } from './record-reader.ts';
import { demandOne, resolveAmong } from './resolve-name.ts';
import type { SubjectRef } from './subjects.ts';

export type SubjectReader = IdentityReader & Pick<RecordReader, 'decisions'>;

/** Its `id` differs from the given one when that is another name of it. Errors: AppError `not_found`; `usage` for a name of several. */
export async function resolveSubject(reader: SubjectReader, { kind, id }: SubjectRef): Promise<Identity> {
  const named = await reader.identitiesNamed(id);
  const exact = named.find(({ identity }) => identity.kind === kind && identity.id === id);
  if (exact) return exact.identity;
  const resolved = resolveAmong(named, id, [kind]);
  return resolved.found === 'none'
    ? ((await decidedAbout(reader, { kind, id })) ?? demandOne(resolved, id).subjects[0])
    : demandOne(resolved, id).subjects[0];
}

async function decidedAbout(reader: SubjectReader, { kind, id }: SubjectRef): Promise<Identity | undefined> {
  const [decision] = await reader.decisions({ subjectId: id, limit: 1 });
  if (decision?.subject.kind !== kind) return undefined;
  const { subjectName: name, effect, since, writtenAt } = decision;
  const device = effect.devices.find((one) => one.id === id);
  return {
    kind,
    id,
    name,
    serial: device?.serial ?? '',
    platform: device?.platform ?? '',
    model: device?.model ?? '',
    owners: device?.owners,
    firstAt: since,
    changedAt: writtenAt,
    goneAt: undefined,
  };
}
