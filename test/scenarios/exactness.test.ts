// scenario: 19-digit integers keep every digit on their way through list, evidence, store and report.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fact, own } from '../../src/domain/facts.ts';
import { buildReport } from '../../src/faces/report/build-report.ts';
import { reportJson } from '../../src/faces/report/json.ts';
import { reportMarkdown } from '../../src/faces/report/markdown.ts';
import { reportText } from '../../src/faces/report/text.ts';
import { type Organization, startOrganization } from '../support/organization.ts';

const ruleOver = (path: string) => `
id: report-exact
title: Report devices whose serial number begins with EXACT
severity: low
subject: device
when:
  and:
    - starts_with: [{ var: SerialNumber }, "EXACT-"]
    - "<": [{ var: ${path} }, { var: $now }]
then: notify
mode: dry-run
limits: { max: 1000, percent: 100 }
tests:
  - { name: other, given: { SerialNumber: "OTHER" }, expect: no_match }
`;

/** Nanoseconds since 2001: 19 digits, of which `JSON.parse` would keep 16 or 17. */
const nanoseconds = fc.bigInt({ min: 1_000_000_000_000_000_000n, max: 1_790_000_000_000_000_000n });

function at(record: Fact | undefined, path: string): Fact | undefined {
  return path.split('.').reduce<Fact | undefined>((value, key) => own(value, key), record);
}

describe.each([
  ['MdmData.Timestamp', 'mdm_timestamp', 'paged'],
  ['LastLogin', 'last_login', 'unpaged'],
] as const)('a 19-digit %s', (path, column, form) => {
  let org: Organization;
  let made = 0;
  beforeAll(async () => {
    org = await startOrganization({ devices: 40, rules: { exact: ruleOver(path) } });
  });
  afterAll(() => org.close());

  it('keeps its digits in list, decision, store and report', async () => {
    const { store, api } = org.composition.engine;
    await fc.assert(
      fc.asyncProperty(nanoseconds, async (time) => {
        made += 1;
        const id = org.console.fleet.addDevice({ serial: `EXACT-${made}`, [column]: time });
        const [listed] = await api.devicesOfSerial(`EXACT-${made}`);
        expect(at(listed, path)).toBe(time);
        const { run } = await org.run('dry-run');
        expect(run.findings?.snapshot.sources.devices.form).toBe(form);
        const [stored] = await store.decisions({ subjectId: id, limit: 1 });
        expect(stored?.facts[path]).toBe(String(time));
        const report = await buildReport(store, run);
        const shown = report.decisions.find((decision) => decision.subject.id === id);
        expect(shown?.facts[path]).toBe(String(time));
        expect(reportJson(report)).toContain(`"${path}": "${time}"`);
        if (made > 5) return; // the shorter forms end with "and N more"
        const date = new Date(Number(time / 1_000_000n)).toISOString().slice(0, 10);
        expect(reportMarkdown(report)).toMatch(new RegExp(`${path} = \\d+ days \\(${date}\\)`));
        expect(reportText(report, { width: 200 })).toMatch(new RegExp(`${path} = \\d+ days \\(${date}\\)`));
      }),
      { numRuns: 40 },
    );
  });
});
