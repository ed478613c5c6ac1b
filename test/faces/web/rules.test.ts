// The pages of the rules: what is loaded and how far it may go, what one rule matches and did, its own tests, its text.
import { describe, expect, it } from 'vitest';
import type { RuleTally } from '../../../src/domain/verdict.ts';
import { addLiveRun, addRun, decision, START_MS } from '../../support/filled-store.ts';
import { openPages } from '../../support/pages.ts';
import { RULE, RULE_REPORT, RULE_TEXT } from '../../support/rule-samples.ts';

const HOSTILE = '<script>alert(1)</script>\u202eevil\nname';

function tallied(over: Partial<RuleTally> = {}) {
  const counts = { match: 3, no_match: 90, unknown: 7, error: 0, missing: {}, examples: [], ...over };
  return { rule: RULE.id, ...counts, mode: RULE.mode, hash: RULE.hash, title: RULE.title, judged: true };
}

describe('the list of rules', () => {
  it('shows what each rule does, matches and has in force, and how its own tests ended', async () => {
    const { get, store } = openPages();
    await addLiveRun(store);
    await addRun(store, { id: 'run2', tallies: [tallied()], startedAt: START_MS + 60_000 });
    const { status, text, html } = await get('/rules');
    expect(status).toBe(200);
    expect(text).toContain('1 rule is loaded');
    expect(text).toMatch(
      /Ban devices that MDM reports as compromised ban-compromised-device critical device ban_device/,
    );
    expect(text).toContain('enforce 3 7 unknown');
    expect(html).toContain('matches of the last 2 runs: ');
    expect(text).toContain('1 of 2 failed');
    expect(html).toContain('href="/rules/ban-compromised-device"');
  });

  it('shows the mode in force where the daemon lowers the mode of a rule', async () => {
    const { get } = openPages({ daemonMode: () => 'dry-run' });
    expect((await get('/rules')).text).toContain('enforce in force: dry-run');
  });

  it('lists each problem of a refused folder, to those who are signed in', async () => {
    const { get } = openPages({ ruleRefusal: () => ['a.yaml:3:7: no field <b>x</b>', 'b.yaml:1:1: broken'] });
    const { text, html } = await get('/rules', 'read');
    expect(text).toContain('The rules folder was refused: 2 problems');
    expect(text).toContain('a.yaml:3:7: no field <b>x</b>');
    expect(html).not.toContain('<b>x</b>');
    expect((await get('/rules', 'none')).status).toBe(303);
  });

  it('does not wait for tests that take long', async () => {
    const { get } = openPages({ ruleDetail: () => new Promise(() => {}) });
    expect((await get('/rules')).text).toContain('still running');
  });
});

describe('the page of a rule', () => {
  it('shows settings in words, tests with gaps, and the text with line numbers', async () => {
    const { get } = openPages();
    const { status, text, html } = await get(`/rules/${RULE.id}`);
    expect(status).toBe(200);
    expect(text).toContain('it acts by itself, within limits and ceilings');
    expect(text).toContain('cooldown at least 1h between two attempts on one target');
    expect(text).toContain(
      'limits 25 targets at once, and 2 % of the subjects; twice that within 24 hours; more holds the whole rule',
    );
    expect(text).toContain('watch between two runs, it judges the subjects that new events name');
    expect(text).toContain('1 test passed, 1 failed');
    expect(text).toContain('expected match, got no_match');
    expect(text).toContain('MdmData.CompromisedStatus == "TRUE" unknown');
    expect(text).toContain('4 small changes of the condition were tried: TRUE → FALSE');
    expect(text).toContain('1 id: ban-compromised-device 2 # <why>');
    expect(html).not.toContain('<why>');
    expect(html).toContain('id="L2"');
  });

  it('shows who it matches in the last run that judged it, and the matches of each run', async () => {
    const { get, store } = openPages();
    await addRun(store, { id: 'run1', tallies: [tallied({ match: 1 })] });
    const hostile = decision({ subjectName: HOSTILE, reasonText: HOSTILE, facts: { Name: HOSTILE } });
    await addRun(store, { id: 'run2', decisions: [hostile], tallies: [tallied()], startedAt: START_MS + 60_000 });
    await addRun(store, { id: 'run3', decisions: [], startedAt: START_MS + 120_000 });
    const { text, html } = await get(`/rules/${RULE.id}`);
    expect(text).toContain('Decisions in force: 1');
    expect(text).toContain('match as of run 2');
    expect(text).toContain('<script>alert(1)</script>⟨U+202E⟩evil⟨U+000A⟩name');
    expect(html).not.toContain('<script>alert');
    expect(html).toContain('data-chart="matches"');
    expect(html).toMatch(/<th scope="col" class="number">Match<\/th>/);
    expect(html).toContain('href="/subjects/device/device-1"');
  });

  it('pages the decisions that it led to, also those that are over', async () => {
    const { get, store } = openPages();
    const decisions = Array.from({ length: 60 }, (_, at) =>
      decision({ id: `decision-${at}`, subject: { kind: 'device', id: `device-${at}` }, target: `SERIAL-${at}` }),
    );
    await addRun(store, { decisions });
    const first = await get(`/rules/${RULE.id}/decisions`);
    expect(first.html.match(/<tr data-row/g)).toHaveLength(50);
    const next = /href="([^"]*before=[^"]*)"/.exec(first.html)?.[1] as string;
    expect((await get(next)).html.match(/<tr data-row/g)).toHaveLength(10);
    const now = await get(`/rules/${RULE.id}`);
    expect(now.text).toContain('Decisions in force: 60');
    const more = /href="([^"]*after=[^"#]*)#now"/.exec(now.html)?.[1] as string;
    expect((await get(more)).html.match(/href="\/subjects\/device\//g)).toHaveLength(10);
  });

  it('leads from a rule that is not loaded any more to what it did', async () => {
    const { get, store } = openPages();
    await addRun(store, { decisions: [decision({ rule: 'gone' })] });
    const { status, text, html } = await get('/rules/gone');
    expect(status).toBe(200);
    expect(text).toContain('This rule is not loaded');
    expect(html).toContain('href="/rules/gone/decisions"');
    expect((await get('/rules/never')).status).toBe(404);
  });

  it('offers a reader no change', async () => {
    const { get } = openPages();
    expect((await get(`/rules/${RULE.id}`, 'read')).html).not.toContain('/try');
    expect((await get(`/rules/${RULE.id}/try`, 'read')).status).toBe(403);
  });

  it('shows a hostile rule as text', async () => {
    const rule = { ...RULE, title: HOSTILE, then: [{ action: 'ban_device' as const, with: { note: HOSTILE } }] };
    const report = { ...RULE_REPORT, problems: [HOSTILE], mutants: { tried: 1, survivors: [HOSTILE] } };
    const text = `${RULE_TEXT}${HOSTILE}\n${'x'.repeat(20_000)}`;
    const { get } = openPages({ rules: () => [rule], ruleDetail: async () => ({ rule, text, report }) });
    for (const path of ['/rules', `/rules/${RULE.id}`, `/rules/${RULE.id}/try`]) {
      const { status, html } = await get(path);
      expect(status).toBe(200);
      expect(html).not.toContain('<script>alert');
    }
  });
});
