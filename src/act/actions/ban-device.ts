// act: ban every device of a serial number: its certificates are revoked and it cannot register again.
import { deviceBan } from './device-ban.ts';

export const banDevice = deviceBan('ban_device', 'TRUE', 'ban');
