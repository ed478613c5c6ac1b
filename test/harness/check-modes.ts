// harness: judges a writing request by the modes of its run, its daemon and its rules, and by what people approved or released. In: a
// writing request. Out: violations.
import type { Intent } from '../../src/domain/intent.ts';
import type { Checker } from './checker.ts';
import type { IntentLife } from './ledger.ts';
import type { PlatformRequest } from './platform.ts';

export function checkModes(
  checker: Checker,
  request: PlatformRequest,
  intent: Intent,
  { rules, sent }: IntentLife,
): void {
  const { operation } = checker;
  const what = `${intent.action} ${intent.target}`;
  if (!operation) {
    checker.report('beyond_mode', `request ${request.number} (${what}) comes outside any operation`);
    return;
  }
  if (operation.mode === 'dry-run' || operation.daemonMode === 'dry-run')
    checker.report('beyond_mode', `${what} in a dry run`);
  if (intent.released) {
    if (!checker.ledger.released.some(({ target }) => target === intent.target))
      checker.report('beyond_mode', `${what}: nobody let go of it`);
    if (intent.planId && !checker.approvedPlans.has(intent.planId))
      checker.report('beyond_mode', `${what}: nobody approved the plan that releases it`);
  } else if (intent.approved) {
    if (!intent.planId || !checker.approvedPlans.has(intent.planId))
      checker.report('beyond_mode', `${what}: nobody approved its plan`);
  } else if (operation.mode !== 'enforce' || operation.daemonMode !== 'enforce') {
    checker.report(
      'beyond_mode',
      `${what} in mode ${operation.mode} of a daemon of mode ${operation.daemonMode}, unapproved`,
    );
  }
  if (intent.released) return;
  // Applying may continue an intent that failed before it was approved.
  const floor = intent.approved || operation.name === 'apply' ? ['approve', 'enforce'] : ['enforce'];
  for (const rule of rules) {
    const mode = operation.rules.get(rule) ?? 'off';
    if (!floor.includes(mode) && !floor.includes(operation.modeNow(rule)))
      checker.report('beyond_mode', `${what}${sent.length > 1 ? ' (again)' : ''}: rule ${rule} has mode ${mode}`);
  }
}
