// Sources: the file `sources.yaml` at the top of a folder of rules → the sources of facts from elsewhere, checked before the rules that read them.
// In: texts of files. Out: the sources of all folders together, or what is wrong with them. Secrets are not in it: it names where they are.
import { z } from 'zod';
import { didYouMean } from '../../base/nearest-name.ts';
import { formatDuration } from '../../base/time.ts';
import type { Facts } from '../../domain/facts.ts';
import {
  GIVEN_FORMATS,
  GIVEN_KEYS,
  GIVEN_TYPES,
  GIVEN_UNITS,
  type GivenField,
  type GivenFormat,
  type GivenKey,
  type GivenOrigin,
  type GivenPages,
  type GivenSource,
} from '../../domain/given-facts.ts';
import type { Place, RuleProblem } from '../language/problem.ts';
import {
  addressOf,
  duration,
  fileBelow,
  hasOne,
  isNamedFile,
  ONE_OF,
  readNamed,
  type SetFiles,
  secretPlace,
  text,
  variableOf,
} from './elsewhere-file.ts';

const SOURCES_MAX = 50;
const FIELDS_MAX = 100;
const ROWS_MAX = 1_000_000;
const EVERY_MIN_MS = 10_000;
const DAYS_MAX_MS = 366 * 86_400_000;
const TIMEOUT_MAX_MS = 600_000;

const file = fileBelow('the folder of sources', 'fleet.csv');
const url = addressOf(/^https?:$/);
const variable = variableOf('SOURCE_', 'FLEET_TOKEN');

const type = z.string().transform((written, context) => {
  const known = GIVEN_TYPES.find((one) => one === written);
  if (known) return known;
  context.addIssue(
    `expected one of ${GIVEN_TYPES.join(', ')}, found \`${written}\`${didYouMean(written, GIVEN_TYPES)}`,
  );
  return z.NEVER;
});
const field = z.preprocess(
  (written) => (typeof written === 'string' ? { type: written } : written),
  z.strictObject({
    type,
    from: text.exactOptional(),
    unit: z.enum(GIVEN_UNITS).exactOptional(),
    separator: z.string().min(1).max(5).exactOptional(),
  }),
);

const pages = z.union([
  z.literal('link').transform((): GivenPages => ({ by: 'link' })),
  z.strictObject({ url_in: text }).transform(({ url_in: member }): GivenPages => ({ by: 'url', member })),
  z
    .strictObject({ token_in: text, parameter: text })
    .transform(({ token_in: member, parameter }): GivenPages => ({ by: 'token', member, parameter })),
  z
    .strictObject({ number: text, first: z.int().min(0).max(1).default(0) })
    .transform(({ number: parameter, first }): GivenPages => ({ by: 'number', parameter, first })),
]);

const timeout = duration(1_000, TIMEOUT_MAX_MS).default(60_000);
const format = z.enum(GIVEN_FORMATS);
const source = z.strictObject({
  key: z.record(z.string(), text),
  fields: z.record(z.string().regex(/^[A-Za-z_]\w{0,99}$/, 'expected letters, digits and _'), field),
  fresh: duration(EVERY_MIN_MS, DAYS_MAX_MS),
  every: duration(EVERY_MIN_MS, DAYS_MAX_MS),
  rows: z.int().min(1).max(ROWS_MAX).default(ROWS_MAX),
  file: z.strictObject({ path: file, format: format.exactOptional(), list: text.exactOptional() }).exactOptional(),
  http: z
    .strictObject({
      url,
      format: format.default('json'),
      list: text.exactOptional(),
      pages: pages.exactOptional(),
      auth: z
        .strictObject({
          scheme: z
            .string()
            .regex(/^[A-Za-z]{1,30}$/)
            .default('Bearer'),
          file: file.exactOptional(),
          env: variable.exactOptional(),
          token: z.strictObject({ url, scope: text.exactOptional() }).exactOptional(),
        })
        .refine(hasOne, ONE_OF)
        .exactOptional(),
      timeout,
    })
    .exactOptional(),
  postgres: z
    .strictObject({
      url: z.strictObject({ file: file.exactOptional(), env: variable.exactOptional() }).refine(hasOne, ONE_OF),
      query: z.string().trim().min(1).max(20_000),
      timeout,
    })
    .exactOptional(),
});
const { http, postgres, file: fromFile } = source.shape;
const MEMBERS = [source, http, postgres, fromFile].flatMap((part) =>
  Object.keys((part instanceof z.ZodExactOptional ? part.unwrap() : part).shape),
);
type Written = z.infer<typeof source>;

export const isSourcesFile = (file: string): boolean => isNamedFile(file, 'sources');

/** Of several folders, together. A file that was refused has none, so that rules that read them are refused too. Never throws. */
export function readSources(files: SetFiles): { sources: GivenSource[]; problems: RuleProblem[] } {
  const { named, problems } = readNamed(files, {
    ...{ file: 'sources', member: 'sources', noun: 'source', unique: 'names of sources are unique' },
    ...{ most: SOURCES_MAX, form: source, members: MEMBERS, made: sourceOf },
  });
  return { sources: named, problems };
}

function sourceOf(
  name: string,
  written: Written,
  fault: (place: Place, message: string) => void,
): GivenSource | undefined {
  const keys = Object.entries(written.key);
  const [[is, from] = ['', '']] = keys;
  if (keys.length !== 1 || !isKey(is)) {
    const expected = `expected one of ${Object.keys(GIVEN_KEYS).join(', ')} with its column, such as \`key: { serial_number: serial }\``;
    return void fault(['key', is], `${expected}, found ${keys.length === 1 ? `\`${is}\`` : keys.length}`);
  }
  const origins = [written.file, written.http, written.postgres].filter((one) => one !== undefined);
  const origin = originOf(written);
  if (origins.length !== 1 || !origin)
    return void fault(
      [],
      `expected one of \`file\`, \`http\` or \`postgres\`, found ${origins.length === 0 ? 'none' : 'several'}`,
    );
  const names = Object.keys(written.fields);
  if (names.length === 0 || names.length > FIELDS_MAX)
    return void fault(['fields'], `expected 1 to ${FIELDS_MAX} fields, found ${names.length}`);
  if (written.fresh < written.every)
    return void fault(
      ['fresh'],
      `fresh is ${formatDuration(written.fresh)}, shorter than every (${formatDuration(written.every)}): its facts would be stale before they are read again`,
    );
  if (origin.by === 'http' && origin.auth?.scheme.toLowerCase() === 'basic' && origin.auth.token)
    return void fault(['http', 'auth'], 'a token is sent as it was given: leave `scheme: basic` out');
  if (origin.by === 'http' && origin.format !== 'json' && origin.pages && origin.pages.by !== 'link')
    return void fault(
      ['http', 'pages'],
      `the pages of ${origin.format} are found by \`pages: link\` alone, since no member of it names the next one`,
    );
  const isText = origin.by !== 'postgres' && origin.format === 'csv';
  const fields = Object.entries(written.fields).flatMap(
    ([field, one]) => fieldOf(field, one, isText, (message) => fault(['fields', field], message)) ?? [],
  );
  if (fields.length < names.length) return undefined;
  return {
    name,
    key: { is, from },
    fields,
    freshMs: written.fresh,
    everyMs: written.every,
    rowsMax: written.rows,
    origin,
  };
}

function isKey(text: string): text is GivenKey {
  return Object.hasOwn(GIVEN_KEYS, text);
}

function fieldOf(
  name: string,
  { type, from = name, unit, separator }: Omit<GivenField, 'name' | 'from'> & { from?: string },
  isText: boolean,
  fault: (message: string) => void,
): GivenField | undefined {
  if ((type === 'time') !== (unit !== undefined))
    return void fault(
      type === 'time'
        ? `a time needs its unit, such as \`{ type: time, unit: iso }\`; expected one of ${GIVEN_UNITS.join(', ')}`
        : 'only a time has a unit',
    );
  if ((type === 'texts' && isText) !== (separator !== undefined))
    return void fault(
      type === 'texts' && isText
        ? 'texts in one cell need their separator, such as `{ type: texts, separator: ";" }`'
        : 'only texts in a cell of CSV have a separator',
    );
  return { name, type, from, ...(unit && { unit }), ...(separator && { separator }) };
}

function originOf({ file, http, postgres }: Written): GivenOrigin | undefined {
  if (file) return { by: 'file', path: file.path, format: file.format ?? formatOf(file.path), list: file.list };
  if (http) {
    const { url, format, list, pages, auth, timeout: timeoutMs } = http;
    const token = auth?.token && { url: auth.token.url, scope: auth.token.scope };
    return {
      by: 'http',
      url,
      format,
      list,
      pages,
      auth: auth && { scheme: auth.scheme, secret: secretPlace(auth), token },
      timeoutMs,
    };
  }
  return (
    postgres && { by: 'postgres', url: secretPlace(postgres.url), query: postgres.query, timeoutMs: postgres.timeout }
  );
}

function formatOf(path: string): GivenFormat {
  return /\.csv$/i.test(path) ? 'csv' : /\.(ndjson|jsonl)$/i.test(path) ? 'ndjson' : 'json';
}

/** For the hash of a set. A set without sources has the hash that it had before there were any. */
export function meaningOfSources(sources: readonly GivenSource[]): Facts[] {
  return sources.length === 0 ? [] : [{ sources: JSON.stringify(sources) }];
}
