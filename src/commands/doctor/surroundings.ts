// commands: `doctor`: the surroundings: the addresses of webhooks, and free space on the disk.
import { statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { lineOf } from '../../domain/errors.ts';
import { publicAddressesOf } from '../../notify/addresses.ts';
import type { Webhook } from '../../notify/settings.ts';
import { sizeText } from '../size-text.ts';
import { type Check, ok, problem, warning } from './check.ts';
import { existingFolder } from './database.ts';

const FREE_BYTES_MIN = 100e6;
const FREE_BYTES_LOW = 1e9;

/** The address that a name resolves to now; nothing is sent there. */
export async function webhookChecks({ notify }: Config): Promise<Check[]> {
  if (notify.webhooks.size === 0) return [ok('webhooks', 'none are set: nobody is notified')];
  return Promise.all([...notify.webhooks.values()].map((webhook) => webhookCheck(webhook, notify.alertsTo)));
}

/** Nothing is sent: a heartbeat that no run sends would hide that none runs. */
export async function heartbeatChecks({ heartbeat }: Config): Promise<Check[]> {
  if (!heartbeat) return [];
  const { url, allowPrivate } = heartbeat;
  try {
    await publicAddressesOf(url.hostname, allowPrivate);
    return [ok('heartbeat', `after each completed whole run to ${url.host}, whose address is allowed`)];
  } catch (error) {
    const advice = 'correct its address; `TRUSTWARD_HEARTBEAT_PRIVATE=yes` permits a receiver in your own network';
    return [problem('heartbeat', lineOf(error), advice)];
  }
}

async function webhookCheck({ name, url, allowPrivate }: Webhook, alertsTo: readonly string[]): Promise<Check> {
  try {
    const [first, ...more] = await publicAddressesOf(url.hostname, allowPrivate);
    const others = more.length === 0 ? '' : ` and ${more.length} more`;
    const alerted = alertsTo.includes(name) ? '; alerts go there' : '';
    return ok(
      'webhooks',
      `\`${name}\`: ${url.host} resolves to ${first?.address}${others}, which is allowed${alerted}`,
    );
  } catch (error) {
    const advice = 'correct its url, or the name service; `allowPrivate: true` permits a receiver in your own network';
    return problem('webhooks', `\`${name}\`: ${lineOf(error)}`, advice);
  }
}

export function diskCheck({ database }: Config): Check {
  const folder = existingFolder(dirname(resolve(database.beside)));
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const size = statSync(database.beside, { throwIfNoEntry: false })?.size ?? 0;
  const text = `${sizeText(free)} free in ${folder}`;
  const advice = 'free some space: on a full disk nothing can be recorded, so nothing is done';
  if (free < FREE_BYTES_MIN) return problem('disk', text, advice);
  if (free < Math.max(FREE_BYTES_LOW, size))
    return warning('disk', `${text}; the database has ${sizeText(size)}`, advice);
  return ok('disk', text);
}
