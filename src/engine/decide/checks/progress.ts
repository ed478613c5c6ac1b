// checks: what was done on a target already: by the same episode, just now, in doubt, refused; and whether its time has come.

import { formatDuration, timeText, wallElapsedMs } from '../../../base/time.ts';
import { type ChangeWindow, notAllowedText } from '../../../domain/change-window.ts';
import { type Check, type CheckName, hold, type Refusal, skip } from '../../../domain/check.ts';
import { lastingText } from '../../../domain/decision.ts';
import { isDone, isUnresolved } from '../../../domain/intent.ts';
import { type NoticeState, nameOfUnwarned } from '../../../domain/notice.ts';
import type { RolloutFacts } from '../../../domain/rollout.ts';

const FIRST_MS = 60_000;
const LONGEST_MS = 3_600_000;

/** When a window begins takes long to find, and a run asks it for each match of a rule. */
const outside = new WeakMap<readonly ChangeWindow[], { atMs: number; text: string | undefined }>();

function outsideText(windows: readonly ChangeWindow[], atMs: number): string | undefined {
  const known = outside.get(windows);
  if (known?.atMs === atMs) return known.text;
  const text = notAllowedText(windows, atMs);
  outside.set(windows, { atMs, text });
  return text;
}

export const PROGRESS = {
  'refused-lately': {
    when: 'the server refused the last request for it (401, 403) a short while ago, with the same credential',
    ask({ basis, steady, credential }) {
      for (const { earlier } of basis) {
        if (!steady || earlier?.outcome !== 'failed' || !earlier.refused || earlier.sentAt === undefined) continue;
        const { times, credential: refused } = earlier.refused;
        const leftMs = pauseMs(times) - wallElapsedMs(steady, earlier.sentAt);
        if (refused !== credential || leftMs <= 0) continue;
        const often = times === 1 ? 'once' : `${times} times in a row`;
        return skip(
          'refused',
          `the server refused it ${often}, nothing was done; next at ${timeText(steady.nowMs + leftMs)}`,
        );
      }
      return undefined;
    },
  },
  cooldown: {
    when: "the rule's last attempt at the target was less than its cooldown ago",
    ask({ undo, basis, steady }) {
      for (const { ruleNow, lastAttemptMs } of basis) {
        if (undo || !ruleNow || !steady || lastAttemptMs === undefined || ruleNow.cooldownMs === 0) continue;
        const waitedMs = wallElapsedMs(steady, lastAttemptMs);
        if (waitedMs >= ruleNow.cooldownMs) continue;
        const until = timeText(steady.nowMs - waitedMs + ruleNow.cooldownMs);
        const ago = formatDuration(ruleNow.cooldownMs);
        return skip('cooldown', `the last attempt was less than ${ago} ago; next at ${until}`);
      }
      return undefined;
    },
  },
  'outside-window': {
    when: 'all rules that it is based on act only in windows (`when_allowed`), none of these is now, and it is no undo',
    ask({ undo, basis, nowMs }) {
      if (undo) return undefined;
      const texts = basis.map(({ ruleNow }) => ruleNow?.whenAllowed && outsideText(ruleNow.whenAllowed, nowMs));
      const [first] = texts;
      return first === undefined || texts.includes(undefined) ? undefined : skip('outside_window', first);
    },
  },
  'outside-rollout': {
    when: 'all rules that it is based on act on a share of their subjects so far (`rollout`) and it is not among them, or what people did stopped them; and it is no undo',
    ask({ undo, basis }) {
      if (undo) return undefined;
      const refusals = basis.map(({ rollout }) => rollout && outsideRollout(rollout));
      return refusals.includes(undefined) ? undefined : refusals[0];
    },
  },
  'just-done': {
    when: 'Trustward acted on it a moment ago, and the target is not in that state; or whether a person reversed it could not be read',
    ask({ justDoneMs, isUnread }) {
      if (isUnread)
        return skip(
          'in_doubt',
          'a list shows it reversed, and its own record was not read: whether a person did that is known when it is',
        );
      if (justDoneMs === undefined) return undefined;
      const waits = formatDuration(Math.ceil(justDoneMs / 1_000) * 1_000);
      const text =
        'it was done just now and does not show yet: whether a person reversed it is known after the quiet period';
      return skip('in_doubt', `${text} (${waits})`);
    },
  },
  'for-not-reached': {
    when: 'the rule has not matched for its `for` duration yet',
    ask({ undo, basis, nowMs }) {
      for (const { ruleNow, matchingSince } of basis) {
        // Without `for` there is nothing to wait for, even after the clock was set back.
        if (undo || !ruleNow || matchingSince === undefined || ruleNow.forMs === 0) continue;
        if (nowMs - matchingSince >= ruleNow.forMs) continue;
        return skip('for_not_reached', lastingText(ruleNow.forMs, matchingSince));
      }
      return undefined;
    },
  },
  'notice-due': {
    when: 'its rule warns people first, and the deadline has not passed for each of them, or one could not be warned',
    ask({ undo, basis, approved, effect }) {
      if (undo) return undefined;
      const known = new Set(approved ? effect?.unwarned : []);
      for (const { notice } of basis) {
        const lacking = notice?.unwarned.filter((one) => !known.has(nameOfUnwarned(one))) ?? [];
        if (lacking.length > 0) return hold('notice_undelivered', lacking.map(unwarnedText).join('; '));
      }
      const waiting = basis.find(({ notice }) => notice && notice.waits.length > 0)?.notice;
      return waiting && skip('notice', noticeText(waiting));
    },
  },
  'in-doubt': {
    when: "an intent's effect on the target is not known yet, or the intent needs a person",
    ask({ doubt, basis }) {
      if (doubt) return skip('in_doubt', `action ${doubt.id} (${doubt.action}) on the same target is not resolved yet`);
      for (const { earlier } of basis) {
        if (earlier?.outcome === 'parked')
          return skip('in_doubt', `action ${earlier.id} is parked and needs a person: ${earlier.note ?? ''}`);
        if (earlier && isUnresolved(earlier)) return skip('in_doubt', `action ${earlier.id} is not resolved yet`);
      }
      return undefined;
    },
  },
  'already-acted': {
    when: 'it was already done for this episode',
    ask({ basis, nowMs, isOwnSo }) {
      const done = basis.find(({ earlier }) => earlier && isDone(earlier))?.earlier;
      if (!done) return undefined;
      const when = `done by action ${done.id} at ${timeText(done.settledAt ?? nowMs)}`;
      return skip('already_acted', isOwnSo ? `${when}; another device of this serial number differs` : when);
    },
  },
  'already-so': {
    when: 'the target is in the wanted state',
    ask({ traits: { fieldWritten, valueWritten }, state, noDevices }) {
      if (noDevices === 'none') return skip('already_so', 'the user has no device left');
      if (noDevices === 'gone') return skip('already_so', 'no device of this serial number is registered');
      if (state !== 'as_intended') return undefined;
      return skip(
        'already_so',
        fieldWritten ? `${fieldWritten} is already ${valueWritten}` : 'the target is already in the wanted state',
      );
    },
  },
  over: {
    when: 'the match that it is based on is over',
    ask({ undo, basis }) {
      const past = undo ? undefined : basis.find(({ isOver }) => isOver);
      return past && skip('drifted', `rule ${past.rule} has ceased to match ${past.subjectId} since`);
    },
  },
  'one-retry': {
    when: 'it was already tried once more',
    ask: ({ doubtRetries = 0 }) => (doubtRetries > 0 ? skip('in_doubt', 'not done after one retry') : undefined),
  },
} satisfies { readonly [name in CheckName]?: Check };

function unwarnedText({ address, why }: NoticeState['unwarned'][number]): string {
  return address === '' ? `nobody can be warned first: ${why}` : `${address} could not be warned first: ${why}`;
}

const NAMED_MAX = 5;

function noticeText({ beforeMs, waits }: NoticeState): string {
  const named = waits.slice(0, NAMED_MAX).map(({ address, notice, dueAt }) => {
    const until = dueAt === undefined ? '' : `, not before ${timeText(dueAt)}`;
    if (notice?.deliveredAt !== undefined) return `${address} was warned at ${timeText(notice.deliveredAt)}${until}`;
    return `${address} is warned first: ${formatDuration(beforeMs)} after the delivery${until}`;
  });
  const more = waits.length > NAMED_MAX ? `; and ${waits.length - NAMED_MAX} more` : '';
  return `${named.join('; ')}${more}`;
}

function outsideRollout({ isAmong, stepText, braked }: RolloutFacts): Refusal | undefined {
  if (braked !== undefined)
    return hold('rollout_braked', `its rollout was ${braked}; it waits for a person, who resumes or restarts it`);
  return isAmong ? undefined : skip('rollout', `${stepText}: not among them`);
}

/** After the first refusal: none. */
function pauseMs(times: number): number {
  return times <= 1 ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (times - 2));
}
