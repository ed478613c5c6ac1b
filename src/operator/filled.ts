// operator: texts that a command cannot do without. In: a text as given. Out: the same without spaces around it.
import { AppError } from '../domain/errors.ts';
import { GIVEN_TEXT_MAX } from '../domain/operator.ts';

/** Errors: AppError `usage` for an empty one, with the advice, and for one of more than 1,000 characters. */
export function filled(text: string, name: string, advice: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new AppError('usage', `the ${name} is empty: ${advice}`);
  if (trimmed.length <= GIVEN_TEXT_MAX) return trimmed;
  throw new AppError('usage', `the ${name} has ${trimmed.length} characters: at most ${GIVEN_TEXT_MAX} are taken`);
}

/** A reason that need not be given, but if it is, says something. Errors: as `filled`. */
export function filledReason(reason: string | undefined): string | undefined {
  return reason === undefined ? undefined : filled(reason, 'reason', 'say why, for the audit');
}
