// checks: what holds or stops everything: a rule, a run or a daemon that needs a person's yes, the stop switch, a change window, the end of the process.
// A daemon of mode `approve` holds what any of its runs would do: a dry run shows this too.

import { freezeText } from '../../../domain/change-window.ts';
import { type Check, type CheckName, hold, skip } from '../../../domain/check.ts';
import { stopText } from '../../../domain/operator.ts';
import { isLive, waitsForPerson } from '../../../domain/rule.ts';

export const HOLDS = {
  'approval-needed': {
    when: 'the rule, the run or the daemon has mode `approve`, the action cannot be undone, or what it undoes may be a person’s by now',
    ask({ traits, ownMode = 'off', approver, mayBeTheirs }) {
      if (mayBeTheirs) {
        const seen = `a list showed ${traits.inverse} reversed while the target’s own record could not be read`;
        return hold(
          'approval_needed',
          `${seen}: a person may have reversed it and done it again, and then it is theirs`,
        );
      }
      if (waitsForPerson(ownMode)) return hold('approval_needed', 'the rule has mode `approve`');
      if (traits.changesFleet && traits.inverse === undefined)
        return hold('approval_needed', `${traits.name} cannot be undone`);
      if (!approver || !isLive(ownMode)) return undefined;
      return hold('approval_needed', `the ${approver} has mode \`approve\``);
    },
  },
  stopped: {
    when: 'a person stopped everything',
    ask: ({ stop }) => stop && hold('stopped', stopText(stop)),
  },
  frozen: {
    when: 'a change window is in force, and it is no undo',
    ask: ({ freeze, undo }) => (freeze && !undo ? hold('frozen', freezeText(freeze)) : undefined),
  },
  stopping: {
    when: 'the process is being stopped',
    ask: ({ isStopping }) => (isStopping ? skip('stopped', 'the process is being stopped') : undefined),
  },
} satisfies { readonly [name in CheckName]?: Check };
