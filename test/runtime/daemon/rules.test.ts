// test: what the daemon shows of a rule: its text as loaded, and what its tests show.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WorkProgress } from '../../../src/domain/replay.ts';
import { rulePorts } from '../../../src/runtime/daemon/http-deps.ts';
import { UnderWay } from '../../../src/runtime/daemon/under-way.ts';
import { RunQueue } from '../../../src/runtime/schedule/run-queue.ts';
import { BAN_COMPROMISED, type Organization, startOrganization } from '../../support/organization.ts';

const queue = () => new RunQueue(org.composition.clock);
const ID = 'ban-compromised-device';

let org: Organization;
beforeEach(async () => {
  org = await startOrganization({ devices: 4 });
});
afterEach(() => org.close());

describe('the details of a rule', () => {
  it('have the text as it was loaded, not the file as it is now', async () => {
    const { ruleDetail } = rulePorts(org.composition, queue(), new UnderWay());
    const { rule, text } = await ruleDetail(ID);
    const file = join(org.rulesDir, rule.file);
    expect(text).toBe(readFileSync(file, 'utf8'));
    writeFileSync(file, `${text}# changed`);
    expect((await ruleDetail(ID)).text).toBe(text);
  });

  it('have each test with its result and why, the coverage, and the changes that no test notices', async () => {
    const { ruleDetail } = rulePorts(org.composition, queue(), new UnderWay());
    const { report } = await ruleDetail(ID);
    expect(report).toMatchObject({ ok: true, tests: [{ name: 'compromised', ok: true }], mutants: { survivors: [] } });
    expect(report.coverage[0]).toMatchObject({ seenTrue: true, seenFalse: false });

    const { rule } = await ruleDetail(ID);
    await org.rule(rule.file.replace('.yaml', ''), BAN_COMPROMISED.replace('expect: match', 'expect: no_match'));
    const after = await ruleDetail(ID);
    expect(after.rule.hash).toBe(rule.hash);
    expect(after.report.tests[0]).toMatchObject({ ok: false, message: 'expected no_match, got match' });
  });

  it('are found once for each loading of the rule', async () => {
    const { ruleDetail } = rulePorts(org.composition, queue(), new UnderWay());
    expect((await ruleDetail(ID)).report).toBe((await ruleDetail(ID)).report);
  });

  it('of an unknown rule are refused', async () => {
    await expect(rulePorts(org.composition, queue(), new UnderWay()).ruleDetail('none')).rejects.toMatchObject({
      code: 'not_found',
      message: 'there is no rule `none`',
    });
  });
});

describe('a changed rule, tried in a daemon', () => {
  it('reads the fleet and leaves the database as it was', async () => {
    await org.run('dry-run');
    const { store } = org.composition.engine;
    const before = [await store.auditHead(), await store.runs(10)];
    const { tryRule } = rulePorts(org.composition, queue(), new UnderWay());
    const tried = await tryRule(
      ID,
      BAN_COMPROMISED.replace('"TRUE"]', '"FALSE"]').replace('expect: match', 'expect: no_match'),
      'ana',
    );
    expect(tried.before.match).toBe(0);
    expect(tried.addedTotal).toBe(tried.after.match);
    expect(tried.addedTotal).toBeGreaterThan(0);
    expect([await store.auditHead(), await store.runs(10)]).toEqual(before);
    expect(org.effects('device_banned')).toEqual([]);
  });

  it('shows how far it is to those who watch, by the name of the rule, until it ends', async () => {
    const underWay = new UnderWay();
    const steps: (WorkProgress | undefined)[] = [];
    underWay.onProgress((step) => steps.push(step));
    const { tryRule } = rulePorts(org.composition, queue(), underWay);
    await tryRule(ID, BAN_COMPROMISED, 'ana');
    expect(steps[0]).toMatchObject({ trial: ID, phase: 'reading', what: 'devices' });
    expect(steps.every((step) => step?.run === undefined)).toBe(true);
    expect(steps.at(-1)).toBeUndefined();
  });

  it('is refused at once for a mistake in the text, and when the daemon ends', async () => {
    const ended = queue();
    await ended.stop();
    const { tryRule } = rulePorts(org.composition, ended, new UnderWay());
    await expect(tryRule(ID, 'id: [', 'ana')).rejects.toMatchObject({ code: 'rules' });
    await expect(tryRule(ID, BAN_COMPROMISED, 'ana')).rejects.toMatchObject({ code: 'stopped' });
  });
});
