// report: the settings of a rule in words. In: a rule, and the most that the daemon allows. Out: plain text; settings of actions come from
// the rule's file and may be long.
import { formatDuration } from '../domain/duration.ts';
import { leastMode, type Mode } from '../domain/mode.ts';
import type { ActionOfRule, Rule } from '../domain/rule.ts';
import { plural } from './fact-text.ts';

const MODE_WORDS: Record<Mode, string> = {
  off: 'it is not judged',
  'dry-run': 'it judges and reports, and changes nothing',
  approve: 'it does only what a person approved',
  enforce: 'it acts by itself, within limits and ceilings',
};

/** What the mode in force means, and what lowered it. */
export function ruleModeWords({ mode }: Pick<Rule, 'mode'>, daemonMode: Mode): string {
  const inForce = leastMode(mode, daemonMode);
  const lowered = inForce === mode ? '' : `; the daemon's mode ${daemonMode} lowers its own, ${mode}`;
  return `${MODE_WORDS[inForce]}${lowered}`;
}

/** `25 targets at once, and 2 % of the subjects; twice that within 24 hours`. */
export function limitWords({ limits: { max, percent, perDay } }: Pick<Rule, 'limits'>): string {
  const inDay = perDay === undefined ? 'twice that' : plural(perDay, 'subject');
  return `${plural(max, 'target')} at once, and ${percent} % of the subjects; ${inDay} within 24 hours`;
}

/** `with` of an action as JSON; empty without settings. */
export function settingsOfAction({ with: settings }: ActionOfRule): string {
  if (Object.keys(settings).length === 0) return '';
  return JSON.stringify(settings, (_key, member) => (typeof member === 'bigint' ? member.toString() : member));
}

/** By the names that rule files have. */
export function ruleSettings(rule: Rule): { name: string; text: string }[] {
  const { forMs, clearForMs, cooldownMs, revert, owners, watch } = rule;
  const lasting = (ms: number, what: string) =>
    ms === 0 ? `${what} at once` : `${what} after ${formatDuration(ms)} without a break`;
  return [
    { name: 'for', text: lasting(forMs, 'a match counts') },
    { name: 'clear_for', text: lasting(clearForMs, 'the end of a match counts') },
    { name: 'cooldown', text: `at least ${formatDuration(cooldownMs)} between two attempts on one target` },
    {
      name: 'revert',
      text: revert
        ? 'what it did is undone when it no longer matches'
        : 'what it did stays until somebody undoes it by hand',
    },
    { name: 'limits', text: `${limitWords(rule)}; more holds the whole rule` },
    {
      name: 'owners',
      text:
        owners === 'one'
          ? 'two or more devices of one owner in one run are held'
          : 'one run can take two or more devices of one owner',
    },
    {
      name: 'watch',
      text: watch
        ? 'between two runs, it judges the subjects that new events name'
        : 'only whole runs judge it: new events do not',
    },
  ];
}
