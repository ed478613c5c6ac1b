// management client: looking up one record. In: a name, and a way to ask. Out: where it is, or an error of a server that does not
// filter. It takes no answer for what was asked for: each record is compared with the name.
import { AppError } from '../../domain/errors.ts';
import { isFacts, ownText } from '../../domain/facts.ts';
import type { Page } from '../../domain/ports.ts';
import { problem, type Subject } from './fault.ts';
import type { QueryValue } from './requests.ts';

/** A filter by id finds one record: more of them are a filter that was ignored. */
const PAGE = { Skip: 0, Limit: 10 };

/**
 * The serial numbers of a DeviceID, which newer servers filter by. Their records name it `id` or, in the form of version 1, `DeviceID`.
 * Undefined: this server lacks the list, ignores the filter, or has no serial number for the device.
 */
export async function serialsOf(
  deviceId: string,
  ask: (query: Record<string, QueryValue>) => Promise<Page>,
): Promise<string[] | undefined> {
  const records = await recordsOf(ask({ id: deviceId, ...PAGE }));
  if (!records || records.length === 0) return records && [];
  const own = records.filter(isFacts).filter((each) => (ownText(each, 'DeviceID') ?? ownText(each, 'id')) === deviceId);
  const serials = own.map((each) => ownText(each, 'SerialNumber') ?? ownText(each, 'serial_number') ?? '');
  const known = serials.filter((serial) => serial.trim() !== '');
  return known.length > 0 ? known : undefined;
}

/** Undefined: the list is not there, or not for this credential, or not one of version 2. */
async function recordsOf(asked: Promise<Page>): Promise<unknown[] | undefined> {
  try {
    return (await asked).records;
  } catch (error) {
    if (error instanceof AppError && (error.code === 'api_answer' || error.code === 'api_forbidden')) return undefined;
    throw error;
  }
}

/** A lookup was answered with a list. */
export function unfiltered(about: Subject, query: Record<string, string>, recordsMax: number): AppError {
  const words = `the server sent more than ${recordsMax} records for one \`${Object.keys(query)[0]}\`: it ignores this filter, and the rest was not read`;
  return problem('api_answer', about, 'unfiltered', words);
}

/** A list was read instead of a lookup. */
export function notAmong(about: Subject, recordsMax: number): AppError {
  const words = `the device is not among the first ${recordsMax} of the list, and this server has no lookup by DeviceID: give its serial number`;
  return problem('api_answer', about, 'unfiltered', words);
}
