// domain: decisions, and audit entries of a target, as people ask for them: by a rule, a subject or a target, in any case and by any of its names. In: what was typed.
// Out: the query, and what it is about. Nothing is ever found by a name that means nothing: that is an error, not an empty list.
import type { AuditReader } from './audit-store.ts';
import { AppError } from './errors.ts';
import type { IdentityReader } from './identity.ts';
import type { RecordReader } from './record-reader.ts';
import { demandOne, type Named, resolveName } from './resolve-name.ts';
import type { DecisionQuery } from './store.ts';

export interface DecisionFilter {
  rule?: string | undefined;
  subject?: string | undefined;
  target?: string | undefined;
}

export interface NamedDecisions {
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
