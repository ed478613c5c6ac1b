// check: no run takes two or more devices of one owner, who could be left without any. In: such an owner, or that owners are not known.
import { type Check, hold } from '../../domain/check.ts';

export const owners: Check = {
  when: 'the run would take two or more devices of one owner, or nobody read who owns them',
  ask({ owner, areOwnersUnread }) {
    if (areOwnersUnread) return hold('owners', `who owns its devices was not read (${ALL})`);
    if (!owner) return undefined;
    const { name, devices, since } = owner;
    const where = since ? `in the runs since run ${since.seq}` : 'in one run';
    return hold('owners', `${devices} devices of ${name} ${where} (${ALL})`);
  },
};

const ALL = '`owners: all` in the rule allows it';
