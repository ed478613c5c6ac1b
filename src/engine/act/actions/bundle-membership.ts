// act: the common part of adding to and removing from a bundle. The target is `SERVICE BUNDLE`, so that an undo knows the bundle.
// Bundles can be read on newer servers only. On other servers a definite answer is trusted, and a doubt is parked.
import {
  type Action,
  type Bundles,
  bundleParts,
  MEMBERSHIP,
  membershipOf,
  type ReadBack,
  type TargetTraits,
} from '../../../domain/action.ts';
import { AppError } from '../../../domain/errors.ts';
import { type Facts, isFacts, own, ownText } from '../../../domain/facts.ts';
import type { Api, BundleFacts, TargetReads } from '../../../domain/ports.ts';
import { isOverlong, KEPT_NAME_BYTES_MAX } from '../../../domain/subjects.ts';

type Name = 'add_to_bundle' | 'remove_from_bundle';

const MEMBER: TargetTraits = {
  of: ({ id }, settings) => [`${id} ${ownText(settings, 'bundle') ?? ''}`],
  identity: (target) => ['membership', target],
  parts: (target) => {
    const { serviceId, bundleId } = bundleParts(target);
    return [serviceId, bundleId];
  },
};

function bundleMembership(name: Name, isMember: boolean): Action {
  return {
    name,
    subjects: ['service'],
    target: MEMBER,
    inverse: isMember ? 'remove_from_bundle' : 'add_to_bundle',
    fieldWritten: MEMBERSHIP,
    valueWritten: isMember ? 'TRUE' : 'FALSE',
    readsBundles: true,
    changesFleet: true,
    refuseSettings: (settings) => refuseSettings(name, settings),
    effect: (target) => {
      const { serviceId, bundleId } = bundleParts(target);
      return isMember
        ? `add service ${serviceId} to bundle ${bundleId}`
        : `remove service ${serviceId} from bundle ${bundleId}`;
    },
    readBack: (api, target) => readBack(api, target, isMember),
    perform: (api, target) => {
      const { serviceId, bundleId } = bundleParts(target);
      return isMember ? api.addServiceToBundle(bundleId, serviceId) : api.removeServiceFromBundle(bundleId, serviceId);
    },
  };
}

function refuseSettings(name: Name, settings: Facts): string | undefined {
  const { bundle, ...others } = settings;
  const other = Object.keys(others)[0];
  if (other !== undefined) return `${name} takes only \`bundle\`, but \`${other}\` is given`;
  if (bundle === undefined) return `${name} needs \`with: { bundle: ID }\`: which bundle`;
  // A number of 19 digits would have been rounded, to the id of another bundle.
  if (typeof bundle !== 'string') return `\`bundle\` is the bundle's id as text: write it in quotes`;
  if (isOverlong(bundle)) return `\`bundle\` is longer than ${KEPT_NAME_BYTES_MAX} bytes, which no id of a bundle is`;
  return /^[^\s/]+$/.test(bundle) ? undefined : `\`bundle\` is a bundle's id, without spaces, but is \`${bundle}\``;
}

async function readBack(api: TargetReads, target: string, isMember: boolean): Promise<ReadBack> {
  const { serviceId, bundleId } = bundleParts(target);
  const record = await api.service(serviceId);
  const evidence = { ServiceID: serviceId, bundle: bundleId };
  if (!record) return { state: 'absent', records: [], evidence: { ...evidence, found: false } };
  // A bundle that is not listed may be on a page that the server did not send: its absence shows nothing.
  const member = membershipOf(await readBundles(api), target);
  if (member === undefined) return { state: 'unreadable', records: [record], evidence };
  const state = (member === 'TRUE') === isMember ? 'as_intended' : 'otherwise';
  return { state, records: [record], evidence: { ...evidence, member: member === 'TRUE' } };
}

/** Undefined on servers that have no such list: they answer 404, or refuse the unknown request with 400 or 403. */
export async function readBundles(api: Pick<Api, 'listBundles'>): Promise<Bundles | undefined> {
  try {
    const listed = await api.listBundles();
    return listed && new Map(listed.flatMap(membersOf));
  } catch (error) {
    if (error instanceof AppError && (error.code === 'api_forbidden' || statusOf(error) === 400)) return undefined;
    throw error;
  }
}

function membersOf({ id, service_ids: members }: BundleFacts): [string, ReadonlySet<string>][] {
  const bundleId = textOf(id);
  if (bundleId === undefined || !Array.isArray(members)) return [];
  return [[bundleId, new Set(members.flatMap((member) => textOf(member) ?? []))]];
}

function statusOf({ detail }: AppError): unknown {
  return isFacts(detail) ? own(detail, 'status') : undefined;
}

/** Ids are compared as text: an id of 19 digits is parsed as a big integer. */
function textOf(id: unknown): string | undefined {
  return typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint' ? String(id) : undefined;
}

export const addToBundle = bundleMembership('add_to_bundle', true);

export const removeFromBundle = bundleMembership('remove_from_bundle', false);
