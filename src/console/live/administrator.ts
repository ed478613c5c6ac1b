// console live: an administrator who now and then bans or unbans a device in the page. In: moments. Out: the same
// changes that the API makes, with `via` hand in the list of effects.
import { updateDevices } from '../store/device-changes.ts';
import type { Actor } from '../store/store.ts';
import { ordinaryDevice } from './choosing.ts';
import type { Life } from './moment.ts';

const ADMINISTRATOR: Actor = { name: 'riley@acme.example', via: 'hand' };
/** This many stay banned; beyond it somebody is unbanned. */
const BANNED_SHARE_MAX = 0.02;

export function administrate(life: Life): void {
  const { sql } = life.store;
  const banned = sql.values<string>(
    "SELECT serial FROM device WHERE banned = 'TRUE' AND length(serial) >= 8 LIMIT 1000",
  );
  const devices = sql.value<number>("SELECT n FROM tally WHERE name = 'device'") ?? 0;
  const isCrowded = banned.length > devices * BANNED_SHARE_MAX;
  if (banned.length > 0 && (isCrowded || life.choices.chance(0.4))) {
    updateDevices(life.store, ADMINISTRATOR, life.choices.pick(banned), { banned: 'FALSE' });
    return;
  }
  const device = ordinaryDevice(life);
  if (device) updateDevices(life.store, ADMINISTRATOR, device.serial, { banned: 'TRUE' });
}
