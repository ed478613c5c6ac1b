// signals: whom a SET is about, by the names that the engine knows. In: a subject of RFC 9493 or SSF 1.0, what `signals.yaml` says of its names, and what was
// read of the fleet. Out: the names that windows and looks find subjects by. INVARIANT: it only finds names: one that nothing has is kept as it came.
import { type Fact, type Facts, isFacts, own, ownText } from '../domain/facts.ts';
import { type Identity, type IdentityReader, type NamedIdentity, nameKey } from '../domain/identity.ts';
import type { NameKind, SubjectMapping } from '../domain/signal.ts';

export interface SubjectNames {
  deviceId: string | undefined;
  serialNumber: string | undefined;
  email: string | undefined;
  serviceId: string | undefined;
  /** Whether the engine knows one of them. */
  isKnown: boolean;
}

interface Given {
  kind: NameKind;
  text: string;
}

/** Members of a complex subject that name what rules judge; a tenant or a group is none of it. */
const NAMING = ['user', 'device', 'application'] as const;

export async function namesOf(
  subject: Facts,
  mapping: SubjectMapping,
  reader: Pick<IdentityReader, 'identitiesNamed'>,
): Promise<SubjectNames> {
  const names: SubjectNames = {
    deviceId: undefined,
    serialNumber: undefined,
    email: undefined,
    serviceId: undefined,
    isKnown: false,
  };
  for (const given of givenIn(subject, mapping)) await take(names, given, reader);
  return names;
}

function givenIn(subject: Facts, mapping: SubjectMapping): Given[] {
  const format = ownText(subject, 'format');
  if (format === 'complex')
    return NAMING.flatMap((member) => {
      const of = own(subject, member);
      return isFacts(of) ? simpleOf(of, mapping, member === 'device' ? mapping.device : undefined) : [];
    });
  return simpleOf(subject, mapping, undefined);
}

/** `asDevice`: what a name is that its format leaves open, of a device. */
function simpleOf(subject: Facts, mapping: SubjectMapping, asDevice: NameKind | undefined): Given[] {
  if (ownText(subject, 'format') === 'aliases') {
    const all = own(subject, 'identifiers');
    return (Array.isArray(all) ? all : []).flatMap((one: Fact) =>
      isFacts(one) ? simpleOf(one, mapping, asDevice) : [],
    );
  }
  const [text, kind] = rawOf(subject, mapping, asDevice);
  if (text === undefined) return [];
  const mapped = Object.hasOwn(mapping.map, text) ? mapping.map[text] : undefined;
  if (mapped !== undefined) return [{ kind: 'map', text: mapped }];
  return kind === undefined || kind === 'map' ? [] : [{ kind, text }];
}

function rawOf(
  subject: Facts,
  { issSub, opaque }: SubjectMapping,
  asDevice: NameKind | undefined,
): [text: string | undefined, kind: NameKind | undefined] {
  const text = (member: string) => ownText(subject, member);
  switch (ownText(subject, 'format')) {
    case 'email':
      return [text('email'), 'email'];
    case 'account':
      return [text('uri')?.replace(/^acct:/i, ''), 'email'];
    case 'iss_sub':
      return [text('sub'), asDevice ?? issSub];
    case 'opaque':
      return [text('id'), asDevice ?? opaque];
    case 'phone_number':
      return [text('phone_number'), undefined];
    case 'did':
      return [text('url'), undefined];
    case 'uri':
      return [text('uri'), undefined];
    default:
      return [undefined, undefined];
  }
}

/** Of several names of one field the first counts. */
async function take(names: SubjectNames, given: Given, reader: Pick<IdentityReader, 'identitiesNamed'>): Promise<void> {
  const found = await reader.identitiesNamed(given.text);
  const identity = identityFor(given, found);
  if (identity) {
    names.isKnown = true;
    if (identity.kind === 'user') names.email ??= nameKey(identity.id);
    else if (identity.kind === 'service') names.serviceId ??= identity.id;
    else {
      names.serialNumber ??= identity.serial || undefined;
      // A serial number alone names all of its devices.
      if (given.kind !== 'serial') names.deviceId ??= identity.id;
    }
    return;
  }
  const { kind, text } = given;
  if (kind === 'email' || (kind === 'map' && text.includes('@'))) names.email ??= nameKey(text);
  else if (kind === 'serial') names.serialNumber ??= text;
  else if (kind === 'device_id') names.deviceId ??= text;
  else if (kind === 'service_id') names.serviceId ??= text;
}

const BY: Record<Exclude<NameKind, 'map'>, [Identity['kind'], NamedIdentity['by']]> = {
  email: ['user', 'id'],
  serial: ['device', 'serial'],
  device_id: ['device', 'id'],
  service_id: ['service', 'id'],
};

function identityFor({ kind }: Given, found: readonly NamedIdentity[]): Identity | undefined {
  if (kind !== 'map') {
    const [of, by] = BY[kind];
    return found.find((one) => one.by === by && one.identity.kind === of)?.identity;
  }
  const owned = found.filter(({ by }) => by !== 'owner');
  const ids = owned.filter(({ by }) => by === 'id');
  const [one, ...others] = ids.length > 0 ? ids : owned;
  const isOne = others.every(({ identity }) => identity.serial !== '' && identity.serial === one?.identity.serial);
  return isOne ? one?.identity : undefined;
}
