// checks: whether an undo may be done: on better evidence than the act, something to undo, nothing left half.

import { timeText } from '../../../base/time.ts';
import { type Check, type CheckName, hold, skip } from '../../../domain/check.ts';
import { lastRunSaid } from './rules.ts';

export const UNDOS = {
  'older-report': {
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
  },
  'other-first': {
    when: 'it removes the target, and another action goes first',
    unlifted: true,
    ask(facts) {
      const { first } = facts;
      if (!first) return lastRunSaid(facts, 'other_first');
      return hold('other_first', `rule ${first.rule} wants ${first.action} for the same target first`);
    },
  },
  'nothing-to-undo': {
    when: 'it is an undo, and no claim is left on what it would undo',
    ask({ undo, traits, claims = [] }) {
      if (!undo || claims.some(({ action }) => action === traits.inverse)) return undefined;
      return skip('drifted', 'nothing that Trustward did is left to undo');
    },
  },
  'undone-anyway': {
    when: 'undoing what another rule did has the same effect, and comes at least as soon',
    unlifted: true,
    ask: ({ undoing }) =>
      undoing && skip('cleared', `undoing what rule ${undoing.rule} did is the same, and is enough`),
  },
  'whole-undo': {
    when: 'another part of the same undo is not done: the undo of another claim on the target',
    ask: ({ otherPart }) => otherPart,
  },
} satisfies { readonly [name in CheckName]?: Check };
