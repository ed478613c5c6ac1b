// report: a loaded rule, and one that is tried out, as readers see them.
import { formatDuration, isoTime } from '../../base/time.ts';
import type { RolloutShown, RuleShown, TriedRuleShown } from '../../contract/answers.ts';
import type { CheckedShown } from '../../contract/nouns.ts';
import type { TriedCounts, TriedRule, TriedSubject } from '../../domain/decision.ts';
import { brakedText, type Rollout, type RolloutState, stateOfRollout, stepOf, stepText } from '../../domain/rollout.ts';
import type { Rule } from '../../domain/rule.ts';
import type { Checked } from '../../domain/store.ts';
import { isoOrNull } from './decision-view.ts';
import { timeWords } from './decision-words.ts';
import { factTexts, showHidden } from './fact-text.ts';

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
    ...(rule.fix && { fix: { ...rule.fix, url: rule.fix.url ?? null } }),
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
  const step = stepOf(rollout, state);
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

/** What a check found, with what was decided about undoing. */
export function checkedView({ found, isRepeat, run, undos }: Checked): CheckedShown {
  const { subject, name, readAt, owners, rules } = found;
  return {
    subject: { ...subject, name: name ?? null },
    isGone: name === undefined,
    readAt: isoTime(readAt),
    isRepeat,
    run: run ?? null,
    owners,
    rules: rules.map(({ reportedAt, endsAt, why, ...rule }) => ({
      ...rule,
      reportedAt: isoOrNull(reportedAt),
      reportAgeSeconds: reportedAt === undefined ? null : Math.max(0, Math.round((readAt - reportedAt) / 1_000)),
      endsAt: isoOrNull(endsAt),
      why: why ?? null,
      undos: undos
        .filter((one) => one.rule === rule.rule && one.subject.id === rule.subject.id)
        .map(({ action, target, decision, reason, reasonText, outcome }) => ({
          ...{ action, target, decision },
          text: reasonText || reason,
          outcome: outcome ?? null,
        })),
    })),
  };
}

/** For a terminal and a page. */
export function checkedLines({ subject: { kind, id, name }, readAt, isRepeat, isGone, rules }: CheckedShown): string[] {
  const what = `${kind} ${showHidden(name ?? id)}`;
  if (isGone) return [`${what} is gone from the platform: nothing was done`];
  const at = timeWords(readAt);
  const when = isRepeat ? `it was read at ${at}, less than a minute ago` : `read at ${at}`;
  return [
    `${what}: ${when}`,
    ...(rules.length === 0 ? ['no rule has anything against it'] : []),
    ...rules.flatMap(({ rule, verdict, facts, reportedAt, hasEnded, why, undos }) => [
      `rule ${rule}: ${verdict}${hasEnded ? ', the match is over' : ''}${reportedAt ? ` (report of ${timeWords(reportedAt)})` : ''}`,
      ...factTexts(facts, Date.parse(readAt)).map((line) => `  ${line}`),
      ...(why === null ? [] : [`  ${showHidden(why)}`]),
      ...undos.map(
        ({ action, target, decision, text, outcome }) =>
          `  ${action} ${showHidden(target)}: ${outcome ?? decision} (${showHidden(text)})`,
      ),
    ]),
  ];
}
