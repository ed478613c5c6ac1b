// check: a target in the wanted state needs no action. In: the state of the target, as listed or as just read.
import { type Check, skip } from '../../domain/check.ts';

export const alreadySo: Check = {
  when: 'the target is in the wanted state',
  ask({ traits: { fieldWritten, valueWritten }, state, noDevices }) {
    if (noDevices === 'none') return skip('already_so', 'the user has no device left');
    if (state !== 'as_intended') return undefined;
    return skip(
      'already_so',
      fieldWritten ? `${fieldWritten} is already ${valueWritten}` : 'the target is already in the wanted state',
    );
  },
};
