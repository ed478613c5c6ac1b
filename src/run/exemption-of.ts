// run: calls the one resolver of exemptions for an intent whose target was just read. Owners are read when some
// exemption covers more of a user than the e-mail address. Errors: those of reading the API.
import { Exemptions, type Party, type Protection, partiesOfRecords } from '../decide/exemptions.ts';
import type { KnownTraits } from '../domain/action.ts';
import type { Exemption } from '../domain/exemption.ts';
import type { ExemptionMember } from '../domain/exemption-members.ts';
import type { Facts } from '../domain/facts.ts';
import type { IntentBasis } from '../domain/intent.ts';
import type { Api, Clock } from '../domain/ports.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import type { Rule } from '../domain/rule.ts';
import type { ActionOnTarget } from '../domain/target-key.ts';
import { ownersOf } from './single-reads.ts';

interface Asking {
  api: Pick<Api, 'devicesOfSerial' | 'user'>;
  store: Pick<RecordReader, 'exemptions'>;
  clock: Clock;
  actions: KnownTraits;
  active(): { rules: readonly Pick<Rule, 'id' | 'subject'>[] };
}

export async function exemptionOf(
  { api, store, clock, actions, active }: Asking,
  intent: ActionOnTarget & { basis: readonly Pick<IntentBasis, 'rule' | 'subjectId'>[] },
  records: readonly Facts[],
  among?: readonly Exemption[],
): Promise<Protection> {
  const nowMs = clock.nowMs();
  const exemptions = new Exemptions(among ?? (await store.exemptions(nowMs)), nowMs);
  if (exemptions.isEmpty) return {};
  const kinds = new Map(active().rules.map((rule) => [rule.id, rule.subject]));
  const subjects = intent.basis.flatMap(({ rule, subjectId }): Party[] => {
    const kind = kinds.get(rule);
    return kind === undefined ? [] : [{ kind, id: subjectId, fields: {} }];
  });
  const all = [...records, ...(await devicesHit(api, intent, actions, records))];
  const owners = exemptions.asksForOwnerRecords ? await ownersOf(api, all) : new Map<string, Facts>();
  const parties = [...partiesOfRecords(all, owners), ...subjects];
  const hit = serialHit(intent, actions);
  // A subject that was just read has its own serial number: servers may find one in another case.
  const members = intent.basis.flatMap(({ subjectId }): ExemptionMember[] => {
    const party = parties.find(({ id }) => id === subjectId);
    const serial = party?.fields.SerialNumber?.[0] ?? hit ?? '';
    return party ? [{ kind: party.kind, id: party.id, serial }] : [];
  });
  return exemptions.protecting(parties, members);
}

/** Where the records just read are not the devices themselves: a user's deletion hits those of one serial number. */
async function devicesHit(
  api: Pick<Api, 'devicesOfSerial'>,
  intent: ActionOnTarget,
  actions: KnownTraits,
  records: readonly Facts[],
): Promise<Facts[]> {
  if (records.length === 0 || records.some((record) => Object.hasOwn(record, 'DeviceID'))) return [];
  const serial = serialHit(intent, actions);
  return serial === undefined ? [] : api.devicesOfSerial(serial);
}

function serialHit({ action, target, settings = {} }: ActionOnTarget, actions: KnownTraits): string | undefined {
  return actions.get(action)?.target.serialOf?.(target, settings);
}
