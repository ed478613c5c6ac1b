// bench: fifty device rules as people write them: some shared predicates, few matches, only facts of the paged list.
const LEVELS = ['AlwaysDeny', 'Low', 'Medium', 'High', 'AlwaysAllow'];
const PLATFORMS = ['Windows', 'macOS', 'iOS', 'Android', 'Linux'];

/** `owners`: what the rules say of who owns what they take; `one` is asked of the unpaged list. */
export function fiftyRules(owners: 'one' | 'all'): string[] {
  return Array.from({ length: 50 }, (_, index) => ruleText(index, owners));
}

function ruleText(index: number, owners: 'one' | 'all'): string {
  const id = `bench-rule-${index + 1}`;
  return JSON.stringify({
    id,
    title: `Bench rule ${index + 1}`,
    severity: 'medium',
    subject: 'device',
    when: conditionOf(index),
    then: index % 5 === 0 ? 'ban_device' : 'notify',
    mode: 'approve',
    owners,
    limits: { max: 100_000, percent: 100 },
    tests: [{ name: 'sample', given: {}, expect: 'no_match' }],
  });
}

function conditionOf(index: number): unknown {
  const platform = { '==': [{ var: 'Platform' }, PLATFORMS[index % PLATFORMS.length]] };
  const score = { '<': [{ var: 'TrustData.EntityTrustscore' }, 2 + (index % 7)] };
  const compromised = { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] };
  const level = { in: [{ var: 'TrustData.Level' }, [LEVELS[index % 2]]] };
  const stale = { '>=': [{ age: { var: 'TrustData.UpdatedAt' } }, `${300 + index}d`] };
  const corporate = { in: [{ var: 'Ownership' }, ['Corporate Dedicated', 'Corporate Shared']] };
  const named = { starts_with: [{ var: 'DeviceFriendlyName' }, `zz-${index}`] };
  const shapes = [
    { and: [platform, compromised] },
    { and: [corporate, score, { '!=': [{ var: 'RegisteredStatus' }, 'TRUE'] }] },
    { or: [{ and: [level, corporate, score] }, named] },
    { and: [stale, { '!': [compromised] }] },
    { and: [{ some: [{ var: 'TrustData.Factors' }, { '==': [{ var: 'Name' }, `factor-${index}`] }] }, platform] },
  ];
  return shapes[index % shapes.length];
}
