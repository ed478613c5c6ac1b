// web: the subject of an address. In: its kind and id, as segments of the path. Out: what is known of it. Each is one segment, encoded.
import { AppError } from '../../../domain/errors.ts';
import type { Identity } from '../../../domain/identity.ts';
import { resolveSubject } from '../../../domain/resolve-subject.ts';
import { SUBJECT_KINDS } from '../../../domain/subjects.ts';
import type { HttpDeps } from '../../../http/deps.ts';
import { type Ctx, param } from '../../../http/route.ts';
import { subjectPath } from '../../../report/html/who.tsx';

export const SUBJECT_PATH = '/subjects/:kind/:id';

/** `isAlias`: it has another id than the one that was asked for. Errors: AppError `not_found`, `usage` for a name of several. */
export async function askedSubject(
  { reader }: Pick<HttpDeps, 'reader'>,
  context: Ctx,
): Promise<{ subject: Identity; isAlias: boolean }> {
  const [given, id] = [param(context, 'kind'), param(context, 'id')];
  const kind = SUBJECT_KINDS.find((known) => known === given);
  if (!kind)
    throw new AppError(
      'not_found',
      `there is no kind of subject \`${given}\`: it is one of ${SUBJECT_KINDS.join(', ')}`,
    );
  const subject = await resolveSubject(reader, { kind, id });
  return { subject, isAlias: subject.id !== id };
}

export function pathOf({ kind, id }: Pick<Identity, 'kind' | 'id'>): string {
  return subjectPath(kind, id);
}

export function rulePathOf(subject: Pick<Identity, 'kind' | 'id'>, rule: string): string {
  return `${pathOf(subject)}/rules/${encodeURIComponent(rule)}`;
}

/** What people call it: hostile. */
export function titleOf({ name, serial, id }: Pick<Identity, 'name' | 'serial' | 'id'>): string {
  return name || serial || id;
}
