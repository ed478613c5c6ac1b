// checks: how many at once: a rule's limits of a run and of a day, the ceilings of an action, too many failures in a run.

import type { Deletion } from '../../../domain/action.ts';
import { type Check, type CheckName, hold, skip } from '../../../domain/check.ts';
import { own } from '../../../domain/facts.ts';

export const BOUNDS = {
  newcomers: {
    when: 'it would hit devices, owners, certificates or users that nobody decided about',
    ask({ effect, fresh }) {
      const known = new Set(effect?.devices.map(({ id }) => id));
      const ids = fresh?.records.flatMap((record) => own(record, 'DeviceID') ?? []).map(String) ?? [];
      const added = known.size === 0 ? [] : ids.filter((id) => !known.has(id));
      if (added.length > 0)
        return skip('drifted', `the serial number has devices now that it did not have: ${added.join(', ')}`);
      const beyond = beyondReviewed(effect?.deletion, fresh?.deletion);
      return beyond === undefined ? undefined : skip('drifted', beyond);
    },
  },
  limits: {
    when: "the rule's targets cross its limits, as a number, as a share of the subjects, or by those of the last 24 hours",
    ask({ limit, limitOfDay }) {
      if (limit) {
        const { targets, crossed, since } = limit;
        const counted = since ? `, with ${since.targets} of the runs since run ${since.seq}` : '';
        return hold('limits', `${targets} targets at once cross the rule's limit (${crossed})${counted}`);
      }
      if (!limitOfDay) return undefined;
      const { subjects, allowed } = limitOfDay;
      return hold('limits', `${subjects} subjects within 24 hours cross the rule's limit (per_day ${allowed})`);
    },
  },
  ceiling: {
    when: 'the action was attempted as often as its ceilings allow, in the run or in 24 hours',
    ask({ room, traits }) {
      if (room === undefined || room > 0) return undefined;
      return hold('ceiling', `the ceiling of ${traits.name} (in a run, or in 24 hours) is reached`);
    },
  },
  breaker: {
    when: 'too many attempts of this run failed or are in doubt',
    ask({ failures }) {
      if (!failures || failures.count < failures.max) return undefined;
      return skip('stopped', `${failures.count} attempts failed or are in doubt in this run: it has stopped acting`);
    },
  },
} satisfies { readonly [name in CheckName]?: Check };

function beyondReviewed(then: Deletion | undefined, now: Deletion | undefined): string | undefined {
  if (then === undefined || now === undefined) return undefined;
  return (
    more(then.devices, now.devices, 'devices would be deleted that were not reviewed') ??
    more(then.owners, now.owners, 'owners joined since') ??
    moreCertificates(then.certificates, now.certificates) ??
    moreUsers(then, now)
  );
}

function more(then: readonly string[] | null, now: readonly string[] | null, what: string): string | undefined {
  if (then === null) return undefined;
  if (now === null) return `${what}, or not: the server no longer reports it`;
  const added = beyond(then, now);
  return added.length === 0 ? undefined : `${what}: ${added.join(', ')}`;
}

function moreCertificates(then: number | null, now: number | null): string | undefined {
  if (then === null || (now !== null && now <= then)) return undefined;
  return `certificates that would be revoked were ${then} and are ${now ?? 'no longer known'}`;
}

/** If all owners were to be deleted anyway, an unreadable list adds nothing. */
function moreUsers(then: Deletion, now: Deletion): string | undefined {
  const what = 'users would be deleted that were not reviewed';
  if (then.users === null || now.users !== null) return more(then.users, now.users, what);
  const isAll = now.owners !== null && beyond(then.users, now.owners).length === 0;
  return isAll ? undefined : more(then.users, null, what);
}

/** Servers differ in the case of addresses. */
function beyond(then: readonly string[], now: readonly string[]): string[] {
  const known = new Set(then.map((text) => text.toLowerCase()));
  return now.filter((text) => !known.has(text.toLowerCase()));
}
