// commands: `claims release --rule`: plans the undo of all that a rule has in force. It calls nothing: the plan is approved and applied
// like any other.
import { planRelease } from '../operator/release-rule.ts';
import { countLines, plural, views } from '../report/index.ts';
import { actorHere } from './actor.ts';
import type { CommonOptions, Io } from './io.ts';
import { perform } from './operator-command.ts';

interface PlannedReleaseShown {
  plan: ReturnType<typeof views.plan>;
  matching: number;
  kept: readonly { action: string; target: string; rules: readonly string[] }[];
}

export async function ruleReleaseCommand(
  io: Io,
  rule: string,
  options: CommonOptions & { reason?: string },
): Promise<number> {
  const { reason } = options;
  return perform<PlannedReleaseShown>(io, options, {
    path: '/api/claims/release',
    body: { rule, reason },
    withEngine: async (engine) => {
      const { plan, ...others } = await planRelease(engine, rule, actorHere(), reason);
      return { plan: views.plan(plan), ...others };
    },
    text: ({ plan, matching, kept }) => [
      `plan ${plan.id} undoes what rule ${rule} did to ${plural(plan.intents.length, 'target')}, and waits:`,
      ...countLines(plan.intents),
      matchingWords(matching, rule),
      ...kept.map(({ action, target, rules }) => `  ${action} ${target} stays: rule ${rules.join(', ')} claims it too`),
      `nothing is undone yet: \`trustward plans ${plan.id}\` shows it, \`trustward approve ${plan.id}\` approves it`,
    ],
  });
}

function matchingWords(count: number, rule: string): string {
  if (count === 0) return `none of them matches rule ${rule} any longer`;
  return `${count} of them still match rule ${rule}: they are not acted on again while the match lasts`;
}
