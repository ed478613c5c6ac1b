// check: a run touches nothing of rules that it does not judge. In: which of them it does.
import { type Check, hold } from '../../domain/check.ts';

export const notJudged: Check = {
  when: 'the run does not judge a rule of it, or cannot trust what that reads',
  ask({ basis }) {
    const other = basis.find(({ canJudge }) => canJudge === false);
    return other && hold('untrusted_source', `this run does not judge rule ${other.rule}`);
  },
};
