// test: the pages with a history: what changed of a subject's facts among what was done, parts of it, and the evidence of a rule. Values are hostile.
import { expect, it } from 'vitest';
import { EVIDENCE_THRESHOLDS } from '../../../src/domain/evidence.ts';
import { timelineOf } from '../../../src/engine/explain/timeline.ts';
import { evidenceOf } from '../../history/evidence/figures.ts';
import { banRule, startOnPlatform } from '../../support/engine-on-platform.ts';
import { pagesOnPlatform } from '../../support/pages-on-platform.ts';
import { Recording } from '../../support/recorded.ts';

const HOSTILE = '<script>alert(1)</script>\u202e';

async function pages() {
  const rules = [banRule()];
  const on = startOnPlatform({ rules });
  on.platform.addDevice('d1', { MdmData: { CompromisedStatus: 'TRUE' } });
  await on.run();
  const recording = new Recording();
  recording.nowMs = on.clock.nowMs() - 3_600_000;
  const history = recording.device('d1').run().now('device', 'd1', { DeviceFriendlyName: HOSTILE }).run().reader();
  return pagesOnPlatform(on, rules, {
    timeline: (subject, asked) => timelineOf({ reader: on.store, history, clock: on.clock }, subject, asked),
    evidence: { thresholds: EVIDENCE_THRESHOLDS, isKept: () => true, of: () => evidenceOf() },
  });
}

it('the page of a subject has what changed of its facts among what was done, escaped', async () => {
  const { get } = await pages();
  const { html, text } = await get('/subjects/device/d1');
  expect(text).toContain('DeviceFriendlyName');
  expect(text).toContain('call ban_device S-d1: succeeded');
  expect(html).not.toContain('<script>alert(1)');
  expect(html).not.toContain('\u202e');
});

it('one part of the line of time can be chosen without JavaScript', async () => {
  const { get } = await pages();
  const facts = (await get('/subjects/device/d1/history?show=facts')).text;
  expect(facts).toContain('first recorded');
  expect(facts).not.toContain('call ban_device');
  const acts = (await get('/subjects/device/d1/history?show=acts')).text;
  expect(acts).toContain('call ban_device');
  expect(acts).not.toContain('first recorded');
});

it('the rules page has one line of evidence beside a rule', async () => {
  const { get } = await pages();
  expect((await get('/rules')).text).toContain(
    'evidence: 21 days, 12 matches, at most 3 in a run, 0 undone within the hour',
  );
});
