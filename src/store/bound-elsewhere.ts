// store: the refusal of a database that belongs to another API. In: the database, both addresses. Out: an error that says what to do.
import { AppError } from '../domain/errors.ts';

export function boundElsewhere(file: string, bound: string, address: string): AppError {
  return new AppError(
    'bound_elsewhere',
    `database \`${file}\` belongs to ${bound}, not to ${address}: set TRUSTWARD_DB to another file for this address`,
  );
}
