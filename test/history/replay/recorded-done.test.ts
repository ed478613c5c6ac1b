// replay: what was done in the replayed time, and nothing of before: a window may begin with a look, which sees a few of the open rows.
import { expect, test } from 'vitest';
import type { Episode } from '../../../src/domain/episode.ts';
import type { Intent } from '../../../src/domain/intent.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { asItWas } from '../../../src/history/replay/as-it-was.ts';
import { doneIntent } from '../../support/filled-store.ts';
import { DAY, MINUTE, NOTHING_OPEN, Recording, ruleOf, T0 } from '../../support/recorded.ts';

const ANN = 'ann@example.com';
const RULE = ruleOf({ id: 'tell', subject: 'user', when: { '>': [{ var: 'LoginCount' }, 0] }, then: 'notify' });
const RULE_SET = { hash: 'hash of the rules', files: new Map([[RULE.file, RULE.text]]) };

function noticeSentAt(sentAt: number): { episodes: Episode[]; intents: Intent[] } {
  const episode: Episode = {
    id: 'episode',
    rule: 'tell',
    subject: { kind: 'user', id: ANN },
    since: sentAt,
    matchingSince: sentAt,
    state: 'matching',
    stateSince: sentAt,
    absentSince: undefined,
    seenSo: [],
    overriddenAt: undefined,
    closedAt: undefined,
    closeReason: undefined,
  };
  const basis = { rule: 'tell', ruleHash: '', subjectId: ANN, episodeId: 'episode', decisionId: 'gone', facts: {} };
  const intent = doneIntent(sentAt, {
    action: 'notify',
    target: ANN,
    basis: [basis],
    runId: 'a run before the window',
  });
  return { episodes: [episode], intents: [intent] };
}

function actsOf(sentAt: number) {
  const recording = new Recording().user(ANN);
  const part = { sinceSeq: 1, counted: [], attempts: new Map(), read: [] };
  recording.run({ ruleSet: RULE_SET, frame: { part }, run: { trigger: 'watch', scoped: true } });
  recording.openState = { ...NOTHING_OPEN, ...noticeSentAt(sentAt) };
  recording.runs(2);
  return asItWas(recording.reader(), { fromMs: T0, toMs: T0 + DAY, traits: ACTIONS });
}

test('what was done before the window is not counted, although a look saw nothing of it', async () => {
  const { acts, rules } = await actsOf(T0 - DAY);
  expect(acts).toEqual([]);
  expect(rules).toMatchObject([{ id: 'tell', acts: 0 }]);
});

test('a notice about a user is one about a user, also when its decision is not in the record', async () => {
  const { acts } = await actsOf(T0 + MINUTE);
  expect(acts).toMatchObject([{ subject: { kind: 'user', id: ANN }, action: 'notify', atMs: T0 + MINUTE }]);
});
