// act: ban every device of a serial number: its certificates are revoked and it cannot register again.
import type { Action } from '../../domain/action.ts';
import { deviceBan } from './device-ban.ts';

export const banDevice: Action = {
  ...deviceBan('ban_device', 'TRUE', 'ban'),
  takesDevice: true,
  stateText: 'banned',
  // Two devices of one owner are held, and only the unpaged list shows whose a device is.
  unpaged: ({ owners }) => (owners === 'all' ? [] : ['devices']),
};
