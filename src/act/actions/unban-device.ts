// act: lift the ban of a serial number. The device has to report in before it regains access.
import { deviceBan } from './device-ban.ts';

export const unbanDevice = deviceBan('unban_device', 'FALSE', 'unban');
