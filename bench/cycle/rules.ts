// bench: fifty device rules as people write them: some shared predicates, few matches. Five of them read the owners of a device, which
// only the unpaged list names, and five count events.
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
