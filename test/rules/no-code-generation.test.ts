// test: rules are loaded, judged, tested and explained in a process that may not make code from strings.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { built, ROOT } from '../support/built.ts';

const SCRIPT = `
import { explain } from '${built('src/rules/explain.ts')}';
import { compileRules } from '${built('src/rules/judge/evaluator.ts')}';
import { loadRules } from '${built('src/rules/load/read-rule.ts')}';
import { runRuleTests } from '${built('src/rules/rule-tests/run-tests.ts')}';
import { contextOf, TRAITS } from '${built('test/rules/sample-traits.ts')}';
const { rules, problems } = await loadRules('rules', { traits: TRAITS });
const judge = compileRules(rules).judge('device', contextOf());
judge.accept({ DeviceID: 'd' });
const report = runRuleTests(rules);
const { verdict } = explain(rules[0], { DeviceID: 'd' }, { ...contextOf(), events: [] });
let mayMakeCode = true;
try { new Function('return 1')(); } catch { mayMakeCode = false; }
process.stdout.write(JSON.stringify({ problems: problems.length, judged: judge.finish().judged, ok: report.ok, verdict, mayMakeCode }));
`;

it('no code is made from strings', async () => {
  const flags = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval', SCRIPT];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: ROOT });
  expect(JSON.parse(stdout)).toEqual({ problems: 0, judged: 1, ok: true, verdict: 'unknown', mayMakeCode: false });
});
