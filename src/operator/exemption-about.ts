// operator: what an exemption is about. In: a name, or a selector, as a person gave it. Out: the subject or the selector that an exemption
// keeps. INVARIANT: it keeps the identifier that was given: who names a serial number protects it through every new registration.
import { AppError } from '../domain/errors.ts';
import { type Exemption, SELECTOR_FIELDS } from '../domain/exemption.ts';
import type { IdentityReader } from '../domain/identity.ts';
import {
  demandOneToChange,
  isChosenName,
  type Named,
  nothingKnown,
  type Resolved,
  resolveName,
} from '../domain/resolve-name.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../domain/subjects.ts';
import { filled } from './filled.ts';

export interface AboutRequest {
  /** Exactly one of the two. `id`: any name of it; an id, a serial number or an e-mail address unless it is a service. */
  subject?: { kind?: string | undefined; id: string } | undefined;
  selector?: { field: string; value: string } | undefined;
  /** The subject is meant, though nothing is known of it: `id` is then its id. */
  unseen?: boolean | undefined;
  /** With a selector of `FORGEABLE_FIELDS`: a person accepts that devices report it themselves. */
  acceptForgeable?: boolean | undefined;
}

type About = Pick<Exemption, 'subject' | 'selector'>;

/** Errors: AppError `usage`; `not_found` for a subject that nothing is known of. */
export async function aboutOf(reader: IdentityReader, { subject, selector, unseen }: AboutRequest): Promise<About> {
  if ((subject === undefined) === (selector === undefined))
    throw new AppError('usage', 'an exemption is about one subject (kind and id) or one selector (field and value)');
  if (selector) return ofSelector(selector);
  const { kind: given, id } = subject as { kind?: string; id: string };
  const kind = SUBJECT_KINDS.find((known) => known === given);
  if (given !== undefined && !kind)
    throw new AppError('usage', `\`${given}\` is no kind of subject: ${SUBJECT_KINDS.join(', ')}`);
  const name = filled(id, 'id', `name the ${kind ?? 'subject'}`);
  const resolved = await resolveName(reader, name, kind ? { kinds: [kind] } : {});
  // A device that is called like it does not stand in the way of what is meant.
  if (resolved.found === 'none' || (unseen && isOnlyCalled(resolved))) return ofUnseen(kind, name, unseen ?? false);
  return ofNamed(demandOneToChange(resolved, name));
}

function isOnlyCalled(resolved: Exclude<Resolved, { found: 'none' }>): boolean {
  return resolved.found === 'one' ? isChosenName(resolved.named) : resolved.among.every(isChosenName);
}

function ofNamed({ kind, by, subjects: [first], target }: Named): About {
  if (kind === 'device' && by !== 'id' && target !== undefined)
    return { subject: undefined, selector: { kind, field: 'SerialNumber', value: target } };
  return { subject: { kind, id: first.id }, selector: undefined };
}

function ofUnseen(kind: SubjectKind | undefined, id: string, isMeant: boolean): About {
  if (!isMeant) {
    const { code, message } = nothingKnown(id);
    throw new AppError(code, `${message}; \`--unseen\` (\`"unseen": true\`) exempts it all the same`);
  }
  const meant = kind ?? (id.includes('@') ? 'user' : undefined);
  if (meant === undefined)
    throw new AppError('usage', `nothing is known as \`${id}\`: give its kind too (${SUBJECT_KINDS.join(', ')})`);
  return { subject: { kind: meant, id }, selector: undefined };
}

function ofSelector({ field, value }: { field: string; value: string }): About {
  const kind = Object.hasOwn(SELECTOR_FIELDS, field) ? SELECTOR_FIELDS[field] : undefined;
  if (!kind) {
    const fields = Object.keys(SELECTOR_FIELDS).join(', ');
    throw new AppError('usage', `\`${field}\` is no field of a selector: expected one of ${fields}`);
  }
  return { subject: undefined, selector: { kind, field, value: filled(value, 'value', 'an empty one is of nobody') } };
}
