// checks: whether an undo may be done: on better evidence than the act, something to undo, nothing left half.

import { timeText } from '../../../base/time.ts';
import { type Check, hold, skip } from '../../../domain/check.ts';
import { lastRunSaid } from './rules.ts';

export const olderReport: Check = {
  when: 'the report that clears it is not newer than the one that it was done for, or is dated in the future',
  ask({ traits, undo, basis }) {
    const older = undo ? basis.find((one) => one.older)?.older : undefined;
    if (!older) return undefined;
    const { path, ofMs, than, thanMs } = older;
    const of = ofMs === null ? `${path} has no time` : `${path} ${timeText(ofMs)}`;
    if (than === 'now')
      return skip('older_report', `the report that clears it (${of}) is dated in the future, so it is no evidence`);
    const other = than === 'matched' ? `that ${traits.inverse} was done for` : 'that was seen before it';
    return skip(
      'older_report',
      `the report that clears it (${of}) is not newer than the one of ${timeText(thanMs)} ${other}`,
    );
  },
};

export const otherFirst: Check = {
  when: 'it removes the target, and another action goes first',
  unlifted: true,
  ask(facts) {
    const { first } = facts;
    if (!first) return lastRunSaid(facts, 'other_first');
    return hold('other_first', `rule ${first.rule} wants ${first.action} for the same target first`);
  },
};

export const nothingToUndo: Check = {
  when: 'it is an undo, and no claim is left on what it would undo',
  ask({ undo, traits, claims = [] }) {
    if (!undo || claims.some(({ action }) => action === traits.inverse)) return undefined;
    return skip('drifted', 'nothing that Trustward did is left to undo');
  },
};

export const undoneAnyway: Check = {
  when: 'undoing what another rule did has the same effect, and comes at least as soon',
  unlifted: true,
  ask: ({ undoing }) => undoing && skip('cleared', `undoing what rule ${undoing.rule} did is the same, and is enough`),
};

export const wholeUndo: Check = {
  when: 'another part of the same undo is not done: the undo of another claim on the target',
  ask: ({ otherPart }) => otherPart,
};
