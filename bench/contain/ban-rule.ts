// bench: the rule that bans what the bench's console compromises.
export const BAN_RULE = {
  id: 'bench-ban',
  title: 'Ban compromised devices',
  severity: 'critical',
  subject: 'device',
  when: { '==': [{ var: 'MdmData.CompromisedStatus' }, 'TRUE'] },
  then: 'ban_device',
  mode: 'enforce',
  owners: 'all',
  limits: { max: 2_000, percent: 100 },
  tests: [{ name: 'sample', given: {}, expect: 'no_match' }],
};
