// report: what waits for its time alone: a match that has not lasted for the `for` of its rule yet, that is outside of its rule's windows, or that follows an attempt too closely. In: a
// run, its decisions. Out: when each is due, and in which mode it is then, if its rule matches until then.

import { DAY_MS, MINUTE_MS, spanText } from '../../base/time.ts';
import { allowedFrom } from '../../domain/change-window.ts';
import { LIFTED_BY_TIME, lastingSince } from '../../domain/decision.ts';
import { isLive, type Mode } from '../../domain/rule.ts';
import type { RunRecord } from '../../domain/store.ts';
import type { DecisionOutline } from '../../domain/store-ports.ts';
import { plural } from './fact-text.ts';

export interface Due {
  /** Epoch ms; undefined: not known. */
  atMs: number | undefined;
  /** The rollout of its rule has not come to it. */
  isOutsideShare?: boolean;
  /** A rule on trial only reports, also then. A dry run shows what a live one would do. */
  mode: Mode;
}

/** By decision. */
export function laterOf(
  { findings, startedAt }: Pick<RunRecord, 'findings' | 'startedAt'>,
  decisions: readonly DecisionOutline[],
): ReadonlyMap<string, Due> {
  const rules = new Map((findings?.tallies ?? []).map((tally) => [tally.rule, tally]));
  const waiting = decisions.filter(({ decision, reason }) => decision === 'skip' && LIFTED_BY_TIME.has(reason));
  return new Map(
    waiting.map(({ id, rule, reason, reasonText, since, mode }) => {
      const { forMs, mode: ownMode = mode } = rules.get(rule) ?? {};
      const atMs =
        reason === 'for_not_reached' && forMs !== undefined
          ? (lastingSince(reasonText) ?? since) + forMs
          : (allowedFrom(reasonText) ?? 0);
      return [
        id,
        {
          atMs: atMs > startedAt ? atMs : undefined,
          mode: isLive(mode) ? mode : ownMode,
          isOutsideShare: reason === 'rollout',
        },
      ];
    }),
  );
}

/** `in 3 days`, `in 2 h to 3 days`. */
export function whenDue(dues: readonly Pick<Due, 'atMs' | 'isOutsideShare'>[], fromMs: number): string {
  const times = dues.flatMap(({ atMs }) => atMs ?? []);
  if (dues.every(({ isOutsideShare }) => isOutsideShare)) return 'when the rollout of the rule has come that far';
  if (times.length < dues.length) return 'when the time has come';
  // One after the other: a list of many thousand is too long for arguments.
  const [first, last] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))].map((at) =>
    spanWords(at - fromMs),
  );
  return first === last ? `in ${first}` : `in ${first} to ${last}`;
}

/** In whole minutes, rounded up, and from two days on in days. */
function spanWords(ms: number): string {
  if (ms >= 2 * DAY_MS) return plural(Math.round(ms / DAY_MS), 'day');
  return spanText(Math.max(1, Math.ceil(ms / MINUTE_MS)) * MINUTE_MS);
}
