// run: asks the one resolver of exemptions about an intent whose target was just read. Owners are read when some exemption
// is about more of a user than the e-mail address. Errors: those of reading the API.
import { Exemptions, type Party, partiesOfRecords } from '../decide/exemptions.ts';
import type { Exemption } from '../domain/exemption.ts';
import { type Facts, ownText, ownTexts } from '../domain/facts.ts';
import type { IntentBasis } from '../domain/intent.ts';
import type { Api, Clock } from '../domain/ports.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import type { Rule } from '../domain/rule.ts';

interface Asking {
  api: Api;
  store: Pick<RecordReader, 'exemptions'>;
  clock: Clock;
  active(): { rules: readonly Pick<Rule, 'id' | 'subject'>[] };
}

export async function exemptionOf(
  { api, store, clock, active }: Asking,
  intent: { target: string; basis: readonly Pick<IntentBasis, 'rule' | 'subjectId'>[] },
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
  const all = [...records, ...(await devicesOfMapping(api, intent.target, records))];
  const owners = exemptions.asksForOwnerRecords ? await ownersOf(api, all) : new Map<string, Facts>();
  return exemptions.protecting([...subjects, ...partiesOfRecords(all, owners)]);
}

/** A user's deletion names one device of the user, `SERIAL EMAIL`: its devices are touched too. */
async function devicesOfMapping(api: Api, target: string, records: readonly Facts[]): Promise<Facts[]> {
  const email = records.map((record) => ownText(record, 'Email')).find((text) => text && target.endsWith(` ${text}`));
  return email ? api.devicesOfSerial(target.slice(0, -(email.length + 1))) : [];
}

/** The records of everybody who owns one of these devices, by lower-case e-mail. */
export async function ownersOf(api: Pick<Api, 'user'>, devices: readonly Facts[]): Promise<Map<string, Facts>> {
  const owners = new Map<string, Facts>();
  for (const email of new Set(devices.flatMap((device) => ownTexts(device, 'Emails') ?? []))) {
    const user = await api.user(email);
    if (user) owners.set(email.toLowerCase(), user);
  }
  return owners;
}
