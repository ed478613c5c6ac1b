// report: a loaded rule, and one that is tried out, as readers see them.
import { formatDuration, isoTime } from '../../base/time.ts';
import type { RolloutShown, RuleShown, TriedRuleShown } from '../../contract/answers.ts';
import type { TriedCounts, TriedRule, TriedSubject } from '../../domain/decision.ts';
import { brakedText, type Rollout, type RolloutState, stateOfRollout, stepText } from '../../domain/rollout.ts';
import type { Rule } from '../../domain/rule.ts';

/** `states`: absent where no database is read. */
export function ruleView(rule: Rule, states?: readonly RolloutState[]): RuleShown {
  const { max, percent, perDay } = rule.limits;
  return {
    id: rule.id,
    title: rule.title,
    severity: rule.severity,
    subject: rule.subject,
    when: rule.when,
    then: rule.then,
    mode: rule.mode,
    for: formatDuration(rule.forMs),
    clear_for: formatDuration(rule.clearForMs),
    cooldown: formatDuration(rule.cooldownMs),
    ...(rule.notice && {
      notice: {
        before: formatDuration(rule.notice.beforeMs),
        remind: rule.notice.remindMs.map(formatDuration),
        to: rule.notice.to,
      },
    }),
    ...(rule.fix && { fix: { text: rule.fix.text, url: rule.fix.url ?? null } }),
    ...(rule.whenAllowed && { when_allowed: rule.whenAllowed.map(({ text }) => text) }),
    ...(rule.rollout && { rollout: rolloutSettings(rule.rollout) }),
    ...(rule.rollout && states && { rolloutNow: rolloutView(rule, stateOfRollout(rule, states)) }),
    revert: rule.revert,
    limits: { max, percent, ...(perDay !== undefined && { per_day: perDay }) },
    owners: rule.owners,
    watch: rule.watch,
    hash: rule.hash,
    file: rule.file,
    sources: rule.sources,
  };
}

function rolloutSettings({ steps, eachMs, brake }: Rollout): NonNullable<RuleShown['rollout']> {
  return { steps: steps.map((share) => `${share / 100}%`), each: formatDuration(eachMs), brake };
}

export function rolloutView(rule: Rule, state: RolloutState | undefined): RolloutShown {
  const rollout = rule.rollout as Rollout;
  const step = Math.min(state?.step ?? 0, rollout.steps.length - 1);
  const { braked } = state ?? {};
  return {
    rule: rule.id,
    step: step + 1,
    steps: rollout.steps.length,
    percent: (rollout.steps[step] as number) / 100,
    text: rolloutText(rule, state),
    reversed: state?.reversed.length ?? 0,
    exempted: state?.exempted.length ?? 0,
    stopped: braked ? { at: isoTime(braked.at), why: braked.why } : null,
  };
}

/** `step 2 of 3 (10 %), stopped at …: people reversed 2 of what it did`. */
export function rolloutText({ rollout }: Pick<Rule, 'rollout'>, state: RolloutState | undefined): string {
  const braked = brakedText(state);
  const text = stepText(rollout as Rollout, state);
  if (braked !== undefined) return `${text}, ${braked}`;
  return state === undefined ? `${text}, from the next live run on` : text;
}

export function triedView({ rule, asOf, before, after, added, gone, ...rest }: TriedRule): TriedRuleShown {
  return {
    rule: ruleView(rule),
    asOf: isoTime(asOf),
    before: countsView(before),
    after: countsView(after),
    ...rest,
    added: added.map(subjectView),
    gone: gone.map(subjectView),
  };
}

function countsView({ waits: _, cools: __, outside: ___, ...counts }: TriedCounts): TriedRuleShown['before'] {
  return counts;
}

function subjectView({ serial, owners, ...rest }: TriedSubject) {
  return { ...rest, serial: serial === '' ? null : serial, owners: owners ?? null };
}
