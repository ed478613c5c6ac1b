// check: the target is one that can be acted on. In: its serial number; the action's own refusal of the target as just read;
// the last run's answer.
import { type Check, skip } from '../../domain/check.ts';
import { lastRunSaid } from './last-run-said.ts';

export const impossibleTarget: Check = {
  when: 'the serial number is empty or a placeholder, or the action cannot be done to what was read',
  ask(facts) {
    const { noDevices, serial, refused } = facts;
    if (noDevices === 'unknown')
      return skip('impossible_target', 'the server does not report which devices the user has');
    if (refused !== undefined) return skip('impossible_target', refused);
    if (!serial?.isPlaceholder) return lastRunSaid(facts, 'impossible_target');
    const { number } = serial;
    const what =
      number.trim() === '' ? 'its serial number is empty' : `\`${number}\` is a placeholder, not a serial number`;
    return skip('impossible_target', `${what}: it would hit devices that have nothing to do with each other`);
  },
};
