// web: the mode of a rule, and the mode in force. In: a rule, and the most that the daemon allows. Out: marks.
import { leastMode, type Mode } from '../../../domain/mode.ts';
import type { Rule } from '../../../domain/rule.ts';
import { Mark } from '../../../report/html/marks.tsx';

export function RuleMode({ rule: { mode }, daemonMode }: { rule: Pick<Rule, 'mode'>; daemonMode: Mode }) {
  const inForce = leastMode(mode, daemonMode);
  return (
    <>
      <Mark word={mode} />
      {inForce === mode ? null : (
        <div>
          in force: <Mark word={inForce} />
        </div>
      )}
    </>
  );
}
