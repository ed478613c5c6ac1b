// report: a loaded rule, and one that is tried out, as readers see them.
import { formatDuration, isoTime } from '../../base/time.ts';
import type { RuleShown, TriedRuleShown } from '../../contract/answers.ts';
import type { TriedCounts, TriedRule, TriedSubject } from '../../domain/decision.ts';
import type { Rule } from '../../domain/rule.ts';

export function ruleView(rule: Rule): RuleShown {
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
    revert: rule.revert,
    limits: { max, percent, ...(perDay !== undefined && { per_day: perDay }) },
    owners: rule.owners,
    watch: rule.watch,
    hash: rule.hash,
    file: rule.file,
    sources: rule.sources,
  };
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
