// check: the target is one that can be acted on. In: its serial number; what the action itself says of the target as just read;
// what the last run said of it.
import { type Check, skip } from '../../domain/check.ts';
import { lastRunSaid } from './last-run-said.ts';

export const impossibleTarget: Check = {
  when: 'the serial number is empty or a placeholder, or the action cannot be done to what was read',
  ask(facts) {
    const { noDevices, serial, refused } = facts;
    if (noDevices === 'not_told') return skip('impossible_target', 'the server does not say which devices are theirs');
    if (refused !== undefined) return skip('impossible_target', refused);
    if (!serial?.isPlaceholder) return lastRunSaid(facts, 'impossible_target');
    const { number } = serial;
    const what =
      number.trim() === '' ? 'its serial number is empty' : `\`${number}\` is a placeholder, not a serial number`;
    return skip('impossible_target', `${what}: it would hit devices that have nothing to do with each other`);
  },
};
