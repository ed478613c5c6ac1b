// checks: what people said of a target: an exemption, what joined one later, a guard, a reversal, a rejection; and how much of one owner
// a run may take. INVARIANT: a person's approval answers a guard, and nothing else does; no guard keeps an undo from being done.

import { timeText } from '../../../base/time.ts';
import { type BasisFacts, type Check, type CheckName, hold, skip, type TargetFacts } from '../../../domain/check.ts';
import { exemptionText } from '../../../domain/exemption.ts';
import { devicesText, GUARDS, guardText } from '../../../domain/guards.ts';

export const PEOPLE = {
  overridden: {
    when: 'a person reversed it since the rule began to match',
    ask(facts) {
      const { undo, basis, approved, isDoubt, claims = [], traits } = facts;
      if (undo) return undefined;
      const one = basis.find(({ overriddenAt }) => overriddenAt !== undefined);
      const at = one?.overriddenAt;
      const seen = at === undefined ? '' : ` (seen ${timeText(at)})`;
      const what = one?.isReleased && at ? `an operator released it (${timeText(at)})` : `a person reversed it${seen}`;
      const isReversed =
        at !== undefined ||
        // No run has recorded it yet, and what is read now shows it.
        claims.some(({ action, isOver, isLost }) => isLost && !isOver && action === traits.name) ||
        // An intent that was sent and is not done may have been done and reversed: one episode that saw it done is enough.
        (isDoubt && basis.some(({ wasSeenDone }) => wasSeenDone)) ||
        (approved && !isDoubt && basis.every((one) => one.wasSeenDone && !isStillSo(facts, one)));
      return isReversed ? skip('overridden', `${what}: left alone until the rule has ceased to match`) : undefined;
    },
  },
  'joined-later': {
    when: 'an exemption is about the target now, and did not cover it when it was made',
    ask({ undo, joined, approved, effect }) {
      if (undo || joined === undefined) return undefined;
      const { exemption, ids, covers } = joined;
      // An approval counts only for the exemptions that it showed.
      if (approved && ids.every((id) => effect?.joined?.includes(id))) return undefined;
      const also = covers.length === 0 ? '' : `; it would also hit what the exemption covers: ${covers.join(', ')}`;
      const text = `it joined an exemption after that was made, and waits for a person's yes: ${exemptionText(exemption)}${also}`;
      return hold('joined_later', text);
    },
  },
  approvers: {
    when: '`approvals.yaml`, or the owners of its rules, ask more people about its plan than have said yes',
    ask({ missingYes }) {
      return missingYes === undefined ? undefined : hold('approval_needed', `its plan needs ${missingYes}`);
    },
  },
  guarded: {
    when: '`guards.yaml` asks a person about the target, a device of it or an owner',
    ask({ undo, approved, guard }) {
      if (undo || approved || guard === undefined) return undefined;
      if (guard === 'unread') return hold('guarded', `${GUARDS} asks a person about users, and ${UNREAD}`);
      return hold('guarded', guardText(guard));
    },
  },
  'last-device': {
    when: '`guards.yaml` asks before a last device, and an owner would be left without one, or nobody read what they own',
    ask({ undo, approved, lastDevice }) {
      if (undo || approved || lastDevice === undefined) return undefined;
      const asks = `${GUARDS} asks before a person's last device is taken`;
      if (lastDevice === 'unread') return hold('last_device', `${asks}, and ${UNREAD}`);
      return hold('last_device', `it is the last device of ${lastDevice.owner}: ${asks}`);
    },
  },
  'devices-of-a-day': {
    when: 'it would take more devices of one owner within 24 hours than `guards.yaml` allows, or nobody read who owns them',
    ask({ undo, approved, devicesOfDay }) {
      if (undo || approved || devicesOfDay === undefined) return undefined;
      if (devicesOfDay === 'unread')
        return hold('devices_of_a_day', `${GUARDS} limits the devices of one person a day, and ${UNREAD}`);
      const { owner, devices, allowed } = devicesOfDay;
      const text = `${devicesText(devices)} of ${owner} within 24 hours, and ${GUARDS} allows ${allowed}`;
      return hold('devices_of_a_day', text);
    },
  },
  owners: {
    when: 'the run would take two or more devices of one owner, or nobody read who owns them',
    ask({ owner, areOwnersUnread }) {
      if (areOwnersUnread) return hold('owners', `who owns its devices was not read (${ALL})`);
      if (!owner) return undefined;
      const { name, devices, since } = owner;
      const where = since ? `in the runs since run ${since.seq}` : 'in one run';
      return hold('owners', `${devices} devices of ${name} ${where} (${ALL})`);
    },
  },
  exempt: {
    when: 'a person exempted the target, a device of it or an owner',
    ask({ undo, exemption }) {
      if (undo || exemption === undefined) return undefined;
      return skip('exempt', exemptionText(exemption));
    },
  },
  'exemption-unread': {
    when: 'whether the target is exempt could not be read',
    ask({ undo, exemptionUnread: why }) {
      if (undo || why === undefined) return undefined;
      return skip('stopped', `whether it is exempt could not be read: ${why}`);
    },
  },
  rejected: {
    when: 'a person rejected it in a plan, or ruled out doing it again',
    ask({ basis }) {
      if (!basis.some(({ isRejected }) => isRejected)) return undefined;
      return skip('rejected', 'a person rejected this for as long as the rule matches');
    },
  },
} satisfies { readonly [name in CheckName]?: Check };

/** Another device may have joined a shared serial number: the subject's own state counts. */
function isStillSo({ traits: { valueWritten } }: TargetFacts, { state }: BasisFacts): boolean {
  return state === valueWritten;
}

const UNREAD = 'who owns its devices was not read';
const ALL = '`owners: all` in the rule allows it';
