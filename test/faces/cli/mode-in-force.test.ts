// commands: a report shows the mode that was in force: without a daemon that of `run --mode`, capped by TRUSTWARD_MODE where that is set.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { command } from '../../support/in-process.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

let org: Organization;
beforeAll(async () => {
  org = await startOrganization({ devices: 60, compromised: 1, rules: { ban: BAN_COMPROMISED } });
  await org.composition.close();
});
afterAll(() => org.close());

it.each([
  ['dry-run', 'enforce', 'mode dry-run (asked for enforce)', /asked for in mode enforce, but only mode dry-run/],
  ['', 'dry-run', 'mode dry-run', /^Trustward: dry run/],
  ['', 'enforce', 'mode enforce', /^Trustward: enforcing run/],
])(
  'a report after TRUSTWARD_MODE=%s and `run --mode %s` shows %s, and no daemon',
  async (allowed, mode, shown, head) => {
    const env = { ...org.env, TRUSTWARD_MODE: allowed };
    expect((await command(['run', '--mode', mode], env)).code).toBe(0);
    const text = (await command(['report'], env)).out.replace(/\s+/g, ' ');
    expect(text).toContain(`started by command, ${shown}, took`);
    expect(text).toMatch(head);
    expect(text).not.toContain('daemon');
    const page = (await command(['report', '--format', 'md'], env)).out;
    expect(page).toContain(` · ${shown.replace(/(dry-run|enforce)/g, '`$1`')} · took`);
  },
);
