// domain: decisions, and audit entries of a target, as people ask for them: by a rule, a subject or a target, in any case and by any of its names. In: what was typed.
// Out: the query, and what it is about. Nothing is ever found by a name that means nothing: that is an error, not an empty list.

import { shownName } from '../base/text.ts';
import { AppError } from './errors.ts';
import { demandOne, type Identity, type IdentityReader, type Named, resolveAmong, resolveName } from './identity.ts';
import type { DecisionQuery, RunRecord } from './store.ts';
import type { AuditReader, RecordReader } from './store-ports.ts';
import type { SubjectRef } from './subjects.ts';

interface DecisionFilter {
  rule?: string | undefined;
  subject?: string | undefined;
  target?: string | undefined;
}

interface NamedDecisions {
  query: Pick<DecisionQuery, 'rule' | 'subjectIds' | 'target'>;
  /** What the names mean, one line each; names in it are as they came. Empty: they are all ids or targets that decisions have. */
  about: string[];
}

type Reader = IdentityReader & Pick<RecordReader, 'decisions' | 'latestRun'>;

/** `rules`: the loaded ones; those of the last run by default. Errors: AppError `not_found`, `usage` for a name of several. */
export async function namedDecisions(
  reader: Reader,
  { rule, subject, target }: DecisionFilter,
  rules?: readonly string[],
): Promise<NamedDecisions> {
  const query: NamedDecisions['query'] = {};
  const about: string[] = [];
  if (rule !== undefined) query.rule = await ruleNamed(reader, rule, rules);
  if (subject !== undefined) {
    const named = await namedUnless(reader, { subjectIds: [subject] }, subject);
    if (named) about.push(named.text);
    query.subjectIds = named ? named.subjects.map(({ id }) => id) : [subject];
  }
  if (target !== undefined) {
    const named = await namedUnless(reader, { target }, target);
    if (named) about.push(named.text);
    query.target = named ? targetOf(named, target) : target;
  }
  return { query, about };
}

/**
 * The target of audit entries, by any of its names; what entries have exactly so is used as it is. Errors: AppError `not_found`, `usage` for a name
 * of several.
 */
export async function auditedTarget(
  reader: IdentityReader & Pick<AuditReader, 'audit'>,
  name: string,
): Promise<string> {
  if ((await reader.audit({ target: name, limit: 1 })).length > 0) return name;
  return targetOf(demandOne(await resolveName(reader, name, { kinds: ['device', 'service'] }), name), name);
}

/** Undefined when decisions have exactly this. */
async function namedUnless(
  reader: Reader,
  exact: Pick<DecisionQuery, 'subjectIds' | 'target'>,
  name: string,
): Promise<Named | undefined> {
  if ((await reader.decisions({ ...exact, limit: 1 })).length > 0) return undefined;
  return demandOne(
    await resolveName(reader, name, exact.target === undefined ? {} : { kinds: ['device', 'service'] }),
    name,
  );
}

function targetOf({ target, text }: Named, name: string): string {
  if (target !== undefined) return target;
  throw new AppError('not_found', `\`${name}\` is ${text}: it has no serial number, and no action is about it`);
}

/** The id of a rule that is known, or has decisions. `rules`: the loaded ones. Errors: AppError `not_found`. */
export async function ruleNamed(
  reader: Pick<RecordReader, 'decisions' | 'latestRun'>,
  name: string,
  rules: readonly string[] | undefined,
): Promise<string> {
  const known = rules ?? (await reader.latestRun())?.rules ?? [];
  if (known.includes(name) || (await reader.decisions({ rule: name, limit: 1 })).length > 0) return name;
  const alike = known.find((rule) => rule === name.trim().toLowerCase());
  if (alike !== undefined) return alike;
  const all = known.length > 0 ? [...known].sort().join(', ') : 'none';
  throw new AppError('not_found', `there is no rule \`${name}\`: ${rules ? 'loaded are' : 'the last run had'} ${all}`);
}

// One subject by its kind and id, as an address or an alert names it.

type SubjectReader = IdentityReader & Pick<RecordReader, 'decisions'>;

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

/** Errors: AppError `not_found` for an address that is neither a user's nor an owner's. */
export async function demandKnownOwner(reader: Pick<IdentityReader, 'identitiesNamed'>, owner: string): Promise<void> {
  const named = await reader.identitiesNamed(owner);
  if (named.some(({ by, identity }) => by === 'owner' || (by === 'id' && identity.kind === 'user'))) return;
  const what = `nobody is known as \`${shownName(owner)}\``;
  throw new AppError(
    'not_found',
    `${what}: no trusted snapshot has shown this e-mail address as a user's or as the owner of a device`,
  );
}

const RECENT = 20;

/** By its id, its number or a beginning; `latest`: the last run that has ended, or otherwise the one under way. Errors: AppError `not_found`. */
export async function runNamed(reader: Pick<RecordReader, 'run' | 'runs'>, id: string): Promise<RunRecord> {
  if (id === 'latest') {
    const recent = await reader.runs(RECENT);
    const latest = recent.find((run) => run.status !== 'running') ?? recent[0];
    if (latest) return latest;
    throw new AppError('not_found', 'there is no run yet: POST /api/runs makes one');
  }
  const run = await reader.run(id);
  if (!run) throw new AppError('not_found', `there is no run \`${id}\``);
  return run;
}
