// bench: fifty device rules as people write them: some shared predicates, few matches. Five of them read the owners of a device, which
// only the unpaged list names, and five count events.
import { serialOf } from './fleet.ts';

const LEVELS = ['AlwaysDeny', 'Low', 'Medium', 'High', 'AlwaysAllow'];
const PLATFORMS = ['Windows', 'macOS', 'iOS', 'Android', 'Linux'];

/** `paged`: without what only the unpaged list has, so that pages are read. */
export function fiftyRules(form: 'paged' | 'unpaged'): string[] {
  return Array.from({ length: 50 }, (_, index) => ruleText(index, form));
}

function ruleText(index: number, form: 'paged' | 'unpaged'): string {
  const id = `bench-rule-${index + 1}`;
  return JSON.stringify({
    id,
    title: `Bench rule ${index + 1}`,
    severity: 'medium',
    subject: 'device',
    when: conditionOf(index, form),
    then: index % 5 === 0 ? 'ban_device' : 'notify',
    mode: 'approve',
    owners: 'all',
    limits: { max: 100_000, percent: 100 },
    tests: [{ name: 'sample', given: {}, expect: 'no_match' }],
  });
}

function conditionOf(index: number, form: 'paged' | 'unpaged'): unknown {
  const platform = { '==': [{ var: 'Platform' }, PLATFORMS[index % PLATFORMS.length]] };
  const score = { '<': [{ var: 'TrustData.EntityTrustscore' }, 2 + (index % 7)] };
  const compromised = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
  const level = { in: [{ var: 'TrustData.Level' }, [LEVELS[index % 2]]] };
  const stale = { '>=': [{ age: { var: 'TrustData.UpdatedAt' } }, `${300 + index}d`] };
  const corporate = { in: [{ var: 'Ownership' }, ['Corporate Dedicated', 'Corporate Shared']] };
  const named = { starts_with: [{ var: 'DeviceFriendlyName' }, `zz-${index}`] };
  const count = { event_count: { type: 'Access', action: 'Unauthorized', within: '1h' } };
  const owned = { some: [{ var: '$owners' }, { '<': [{ var: 'TrustData.EntityTrustscore' }, 41] }] };
  if (index % 10 === 3) return { and: [platform, { '>=': [count, 2 + Math.floor(index / 10)] }] };
  if (index % 10 === 4 && form === 'unpaged') return { and: [platform, corporate, owned] };
  const shapes = [
    { and: [platform, compromised] },
    { and: [corporate, score, { '!=': [{ var: 'RegisteredStatus' }, 'TRUE'] }] },
    { or: [{ and: [level, corporate, score] }, named] },
    { and: [stale, { '!': [compromised] }] },
    { and: [{ some: [{ var: 'TrustData.Factors' }, { '==': [{ var: 'Name' }, `factor-${index}`] }] }, platform] },
  ];
  return shapes[index % shapes.length];
}

// A source of facts that has a row for each device of the fleet, and rules that read it.

export const GIVEN_SOURCE = `sources:
  inventory:
    key: { serial_number: serial }
    every: 1h
    fresh: 1d
    fields: { status: text, cost: number, encrypted: boolean, site: text, seen: { type: time, unit: iso } }
    file: { path: inventory.csv }
`;

export function givenRows(count: number): string {
  const lines = Array.from(
    { length: count },
    (_, at) =>
      `${serialOf(at)},${at % 20 === 0 ? 'returned' : 'in use'},${at % 97},${at % 9 !== 0},site-${at % 40},2026-11-01T00:00:00Z`,
  );
  return `serial,status,cost,encrypted,site,seen\n${lines.join('\n')}\n`;
}

export function givenRules(): string[] {
  const status = { '==': [{ var: '$facts.inventory.status' }, 'returned'] };
  const plain = { '==': [{ var: '$facts.inventory.encrypted' }, false] };
  const dear = { '>': [{ var: '$facts.inventory.cost' }, 95] };
  const site = { in: [{ var: '$facts.inventory.site' }, ['site-1', 'site-2']] };
  const unlisted = { missing: ['$facts.inventory.status'] };
  const alone = [
    { and: [status, dear] },
    { and: [plain, dear] },
    { and: [site, status, plain] },
    unlisted,
    { and: [dear, site] },
  ];
  return alone.map((when, index) =>
    JSON.stringify({ ...JSON.parse(ruleText(index, 'paged')), id: `bench-given-${index + 1}`, when }),
  );
}
