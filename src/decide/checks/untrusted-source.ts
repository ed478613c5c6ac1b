// check: the data that a rule's match rests on can be trusted. In: why a source of it is not, as the run or the last run read it.
import { type Check, skip } from '../../domain/check.ts';

export const untrustedSource: Check = {
  when: 'a source that the rule reads was incomplete, moved too much, or could not be trusted otherwise',
  ask({ basis }) {
    const text = basis.find(({ untrusted }) => untrusted !== undefined)?.untrusted;
    return text === undefined ? undefined : skip('untrusted_source', `nothing is done on untrusted data: ${text}`);
  },
};
