// domain: how long a name of the platform may be: a DeviceID, a serial number, an address, the id of a service, a bundle or an event. In: a name. Out:
// whether rows can be found by it (decision 0053).

/**
 * Of UTF-8. INVARIANT: an entry of an index of PostgreSQL has 2,704 bytes at most. The longest has two names in one target, each written with twice its
 * bytes when they are hostile (`store/postgres/text.ts`), the organization, an action and an id.
 */
export const KEPT_NAME_BYTES_MAX = 512;

/** It runs for every record of a fleet: few names are so long that their bytes must be counted. */
export function isOverlong(name: string): boolean {
  return 3 * name.length > KEPT_NAME_BYTES_MAX && Buffer.byteLength(name) > KEPT_NAME_BYTES_MAX;
}
