// act: update a service: `with: { patch: {…} }`, a JSON merge patch (RFC 7386) on its spec. Read, merged, written whole
// through create/update (endpoint 9), and read back. It cannot be undone, so it is always held for approval.
// INVARIANT: it never creates a service: the spec that is sent names the very service that was read.

import { parse } from 'lossless-json';
import { canonicalJson } from '../../../base/json.ts';
import { DROPPED } from '../../../base/secret-texts.ts';
import type { Action, Change, ReadBack } from '../../../domain/action.ts';
import { AppError } from '../../../domain/errors.ts';
import {
  exactNumber,
  type Fact,
  type Facts,
  isBeyondTypes,
  isFacts,
  own,
  unescapeHtml,
} from '../../../domain/facts.ts';
import type { ServiceSpecFacts, TargetReads } from '../../../domain/ports.ts';
import { isSecretMember, isSecretName, withoutSecrets } from '../../../domain/secrets.ts';
import { SERVICE } from './targets.ts';

// The check of an `update_service` patch, when its rule is loaded.

function refusePatch(settings: Facts): string | undefined {
  const other = Object.keys(settings).find((key) => key !== 'patch');
  if (other !== undefined) return `update_service takes only \`patch\`, but \`${other}\` is given`;
  const patch = own(settings, 'patch');
  if (patch === undefined)
    return "update_service needs `with: { patch: {…} }`: a JSON merge patch on the service's spec";
  if (!isFacts(patch) || Object.keys(patch).length === 0)
    return '`patch` is an object with at least one member, such as { spec: { backend: { target: { port: "443" } } } }';
  if (depthOf(patch, 0) > PATCH_DEPTH_MAX) return `\`patch\` is nested deeper than ${PATCH_DEPTH_MAX} levels`;
  return refuseRenaming(patch) ?? refuseSecret(patch);
}

function refuseRenaming(patch: Facts): string | undefined {
  const metadata = own(patch, 'metadata');
  if (metadata === undefined) return undefined;
  if (!isFacts(metadata)) return '`patch` would replace `metadata`, and with it the name of the service';
  const named = ['name', 'cluster'].find((key) => Object.hasOwn(metadata, key));
  if (named === undefined) return undefined;
  return `\`patch\` would change \`metadata.${named}\`: the server would create another service`;
}

/** Many people read a rule file, and its content appears in plans, reports and the audit. */
function refuseSecret(patch: Facts): string | undefined {
  const [secret] = withoutSecrets(patch).dropped;
  return secret && `\`patch\` sets \`${secret}\`, which is a secret: a rule must not hold one`;
}

function depthOf(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > PATCH_DEPTH_MAX) return depth;
  return Object.values(value).reduce((deepest: number, member) => Math.max(deepest, depthOf(member, depth + 1)), depth);
}

const VALUE_MAX = 120;

export const updateService: Action = {
  name: 'update_service',
  subjects: ['service'],
  target: SERVICE,
  inverse: undefined,
  fieldWritten: undefined,
  valueWritten: undefined,
  alsoWrites: (settings) => pathsWritten(patchOf(settings)),
  changesFleet: true,
  refuseSettings: refusePatch,
  changes: (spec, settings) => changesOf(specOf(spec), patchOf(settings)),
  effect: (target, _devices, settings, changes) =>
    `update service ${target}: ${changes ? changeWords(changes) : patchWords(patchOf(settings))}`,
  readBack: (api, target, settings) => readBack(api, target, patchOf(settings)),
  refuse: (fresh) => fresh.records.map(whyNotWritable).find((why) => why !== undefined),
  perform: (api, target, fresh, settings) => {
    const spec = fresh.records[0] && specOfRecord(fresh.records[0]);
    if (!spec) throw new AppError('usage', `the spec of service ${target} cannot be read`);
    return api.insertService(mergePatch(spec, patchOf(settings)) as ServiceSpecFacts);
  },
};

function patchOf(settings: Facts): Facts {
  const patch = own(settings, 'patch');
  return isFacts(patch) ? patch : {};
}

/** Set by the server on every write. */
const STAMPS = ['ServiceSpec', 'ServiceVersion', 'LastUpdatedAt', 'LastUpdatedBy'];

/** Values that appear twice: the record's fields mirror the spec's (management-api.md, "Registered service"). */
const MIRRORS = [
  ['ServiceType', '$spec.type'],
  ['Description', '$spec.metadata.description'],
  ['OIDCEnabled', '$spec.spec.http_settings.oidc_settings.enabled'],
  ['UserFacing', '$spec.metadata.tags.user_facing', '$spec.metadata.user_facing'],
  ['Protocol', '$spec.metadata.tags.protocol', '$spec.metadata.protocol'],
  ['Domain', '$spec.metadata.tags.domain', '$spec.metadata.domain'],
  ['Port', '$spec.metadata.tags.port', '$spec.metadata.port'],
];

/** The paths of a service's record that the patch writes, those inside the spec as `$spec.…`. */
function pathsWritten(patch: Facts): string[] {
  const settings = settingsOfPatch(patch).filter(({ path }) => path.length > 0);
  const paths = settings.map(({ path }) => ['$spec', ...path].join('.'));
  const touched = (place: string): boolean =>
    paths.some((path) => place === path || place.startsWith(`${path}.`) || path.startsWith(`${place}.`));
  return [...STAMPS, ...paths, ...MIRRORS.filter((places) => places.some(touched)).flat()];
}

/** The changes to a readable spec, member by member. */
function changesOf(spec: Facts | undefined, patch: Facts): Change[] | undefined {
  if (spec === undefined) return undefined;
  const changes = changesBetween(spec, mergePatch(spec, patch));
  // Secrets are dropped before anything is stored. The list must still show that one may exist and would be removed.
  const secrets = settingsOfPatch(patch).filter(({ path, value }) => value === null && path.some(isSecretName));
  const known = new Set(changes.map(({ path }) => path));
  return [
    ...changes,
    ...secrets
      .map(({ path }) => path.join('.'))
      .filter((path) => !known.has(path))
      .map((path) => ({ path, from: '[dropped]', to: null })),
  ];
}

function changeWords(changes: readonly Change[]): string {
  if (changes.length === 0) return 'nothing to change, the service is already in the wanted state';
  const parts = changes.map(({ path, from, to }) => {
    if (to === null) return `remove \`${path}\` (it is ${valueWords(from)})`;
    return `set \`${path}\` ${from === null ? '' : `from ${valueWords(from)} `}to ${valueWords(to)}`;
  });
  return parts.join(', ');
}

/** Without the spec, only the new values are known. */
function patchWords(patch: Facts): string {
  const parts = settingsOfPatch(patch).map(({ path, value }) =>
    value === null ? `remove \`${path.join('.')}\`` : `set \`${path.join('.')}\` to ${valueWords(value)}`,
  );
  return parts.join(', ');
}

function valueWords(value: Fact): string {
  const text = canonicalJson(value);
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text;
}

async function readBack(api: TargetReads, serviceId: string, patch: Facts): Promise<ReadBack> {
  const record = await api.service(serviceId);
  if (!record) return { state: 'absent', records: [], evidence: { ServiceID: serviceId, found: false } };
  const version = own(record, 'ServiceVersion') ?? null;
  const spec = specOfRecord(record);
  if (!spec) {
    const evidence = { ServiceID: serviceId, ServiceVersion: version, spec: 'cannot be read' };
    return { state: 'otherwise', records: [record], evidence };
  }
  // Only the part of the spec that the patch changes is evidence: the rest may contain secrets.
  const changes = changesBetween(spec, mergePatch(spec, patch)).map((change): Facts => ({ ...change }));
  const evidence = { ServiceID: serviceId, ServiceVersion: version, changes };
  return { state: isPatched(spec, patch) ? 'as_intended' : 'otherwise', records: [record], evidence };
}

/** The server treats a spec with another name or cluster as a new service. */
function whyNotWritable(record: Facts): string | undefined {
  const spec = specOfRecord(record);
  if (!spec) return "the service's spec is missing or cannot be read: it could not be written back whole";
  const metadata = own(spec, 'metadata');
  for (const [field, inSpec] of [
    ['ServiceName', 'name'],
    ['ClusterName', 'cluster'],
  ] as const) {
    const there = own(metadata, inSpec);
    if (typeof there !== 'string' || there === '') return `the service's spec has no metadata.${inSpec}`;
    const named = own(record, field);
    if (typeof named === 'string' && named !== '' && named !== there)
      return `the service's spec names another ${inSpec} than its record: writing it would create another service`;
  }
  return undefined;
}

// JSON merge patches (RFC 7386): applies a patch to a document, and lists the changes as people and the audit see them.

/** Services' specs lie a handful of levels deep. */
const PATCH_DEPTH_MAX = 32;

/** The patched document: members that are `null` in the patch are removed, objects merged, all others replaced. */
export function mergePatch(document: Fact | undefined, patch: Fact): Fact {
  if (!isFacts(patch)) return patch;
  const merged = new Map(Object.entries(isFacts(document) ? document : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

/** Whether the patch would change nothing. A member that is null counts as absent: clients marshal empty lists so. */
function isPatched(document: Facts, patch: Facts): boolean {
  return canonicalJson(withoutNulls(mergePatch(document, patch))) === canonicalJson(withoutNulls(document));
}

function withoutNulls(value: Fact): Fact {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isFacts(value)) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)]));
}

/** The differences, member by member; lists are compared whole. Secret values show as `[dropped]`. */
function changesBetween(before: Fact | undefined, after: Fact | undefined): Change[] {
  return differences(before, after, [], false);
}

function differences(before: Fact | undefined, after: Fact | undefined, path: string[], isSecret: boolean): Change[] {
  if (isFacts(before) && isFacts(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const secret = (key: string) => isSecret || isSecretMember(before, key) || isSecretMember(after, key);
    return keys.flatMap((key) => differences(own(before, key), own(after, key), [...path, key], secret(key)));
  }
  if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
  return [{ path: path.join('.'), from: shown(before, isSecret), to: shown(after, isSecret) }];
}

function shown(value: Fact = null, isSecret: boolean): Fact {
  if (isSecret && value !== null) return DROPPED;
  return withoutSecrets(value, { instead: () => DROPPED }).value ?? null;
}

/** Every value that a patch sets, with its path; `null`: it is removed. An empty object counts as a value. */
function settingsOfPatch(patch: Fact, path: string[] = []): { path: string[]; value: Fact }[] {
  if (!isFacts(patch) || Object.keys(patch).length === 0) return [{ path, value: patch }];
  return Object.entries(patch).flatMap(([key, value]) => settingsOfPatch(value, [...path, key]));
}

// The spec inside a service's record: JSON as text, HTML-escaped by some servers.

const TEXT_MAX = 1_000_000;

/** Undefined when the record has no readable spec. */
function specOfRecord(record: Facts): Facts | undefined {
  return specOf(own(record, 'ServiceSpec'));
}

/** The same for the field's value only. */
export function specOf(text: Fact | undefined): Facts | undefined {
  if (isFacts(text)) return text;
  if (typeof text !== 'string' || text.length > TEXT_MAX) return undefined;
  // Text that parses may contain its own `&amp;`: only text that does not parse was escaped as a whole.
  return parseObject(text) ?? parseObject(unescapeHtml(text));
}

/** A number that cannot be sent back as it came makes the spec unreadable. */
function sendableNumber(digits: string): number | bigint {
  const value = exactNumber(digits);
  if (isBeyondTypes(value)) throw new RangeError('a number that no type can hold');
  return value;
}

function parseObject(text: string): Facts | undefined {
  try {
    // The plain parser does not recurse: text that is nested too deep never reaches the other parser.
    JSON.parse(text);
    const value = parse(text, undefined, sendableNumber) as Fact;
    return isFacts(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
