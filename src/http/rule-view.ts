// http: a loaded rule as readers see it: in the words of rule files, durations as people write them.
import { formatDuration } from '../domain/duration.ts';
import type { Rule } from '../domain/rule.ts';

export function ruleView(rule: Rule) {
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
    revert: rule.revert,
    limits: { max, percent, ...(perDay !== undefined && { per_day: perDay }) },
    owners: rule.owners,
    watch: rule.watch,
    hash: rule.hash,
    file: rule.file,
    sources: rule.sources,
  };
}
