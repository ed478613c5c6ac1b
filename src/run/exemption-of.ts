// run: calls the one resolver of exemptions for an intent whose target was just read. Owners are read when some
// exemption covers more of a user than the e-mail address. Errors: those of reading the API.
import { Exemptions, type Party, partiesOfRecords } from '../decide/exemptions.ts';
import type { KnownTraits } from '../domain/action.ts';
import type { Exemption } from '../domain/exemption.ts';
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
): Promise<Exemption | undefined> {
  const nowMs = clock.nowMs();
  const exemptions = new Exemptions(among ?? (await store.exemptions(nowMs)), nowMs);
  if (exemptions.isEmpty) return undefined;
  const kinds = new Map(active().rules.map((rule) => [rule.id, rule.subject]));
  const subjects = intent.basis.flatMap(({ rule, subjectId }): Party[] => {
    const kind = kinds.get(rule);
    return kind === undefined ? [] : [{ kind, id: subjectId, fields: {} }];
  });
  const all = [...records, ...(await devicesHit(api, intent, actions, records))];
  const owners = exemptions.asksForOwnerRecords ? await ownersOf(api, all) : new Map<string, Facts>();
  return exemptions.protecting([...subjects, ...partiesOfRecords(all, owners)]);
}

/** Where the records just read are not the devices themselves: a user's deletion hits those of one serial number. */
async function devicesHit(
  api: Pick<Api, 'devicesOfSerial'>,
  { action, target, settings = {} }: ActionOnTarget,
  actions: KnownTraits,
  records: readonly Facts[],
): Promise<Facts[]> {
  if (records.length === 0 || records.some((record) => Object.hasOwn(record, 'DeviceID'))) return [];
  const serial = actions.get(action)?.target.serialOf?.(target, settings);
  return serial === undefined ? [] : api.devicesOfSerial(serial);
}
