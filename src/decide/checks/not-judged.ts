// check: a run does nothing for rules that it does not judge. In: which of the intent's rules it judges.
import { type Check, hold } from '../../domain/check.ts';

export const notJudged: Check = {
  when: 'the run does not judge one of its rules, or cannot trust a source of that rule',
  ask({ basis }) {
    const other = basis.find(({ canJudge }) => canJudge === false);
    return other && hold('untrusted_source', `this run does not judge rule ${other.rule}`);
  },
};
