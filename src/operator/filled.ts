// operator: texts that a command cannot do without. In: a text as given. Out: the same without spaces around it.
import { AppError } from '../domain/errors.ts';

/** Errors: AppError `usage` for an empty one, with the advice. */
export function filled(text: string, name: string, advice: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw new AppError('usage', `the ${name} is empty: ${advice}`);
  return trimmed;
}
