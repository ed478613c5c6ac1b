// check: nothing is done where nothing has to be. In: the state of the target, as listed or as just read.
import { type Check, skip } from '../../domain/check.ts';

export const alreadySo: Check = {
  when: 'the target is in the wanted state',
  ask({ traits: { fieldWritten, valueWritten }, state, noDevices }) {
    if (noDevices === 'none') return skip('already_so', 'no device of theirs is left');
    if (state !== 'as_intended') return undefined;
    return skip('already_so', fieldWritten ? `${fieldWritten} is already ${valueWritten}` : 'it is so already');
  },
};
