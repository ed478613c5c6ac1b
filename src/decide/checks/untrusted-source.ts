// check: the data that a rule's match is based on can be trusted. In: why one of its sources is not, as read by the run or the last run.
import { type Check, skip } from '../../domain/check.ts';

export const untrustedSource: Check = {
  when: 'a source that the rule reads was incomplete, changed too much, or could not be trusted for another reason',
  ask({ basis }) {
    const text = basis.find(({ untrusted }) => untrusted !== undefined)?.untrusted;
    return text === undefined ? undefined : skip('untrusted_source', `nothing is done on untrusted data: ${text}`);
  },
};
