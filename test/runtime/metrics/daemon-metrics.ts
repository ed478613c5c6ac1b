// test: a daemon with a listener for its metrics, and what a scrape of it shows.
import { request } from 'node:http';
import { type Daemon, startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { type Organization, type OrganizationOptions, startOrganization } from '../../support/organization.ts';

export interface Measured {
  org: Organization;
  daemon: Daemon;
  scrape(): Promise<Scrape>;
  /** Scrapes until it is so; the test's own time limit bounds it. */
  until(isSo: (scrape: Scrape) => boolean): Promise<Scrape>;
  /** Another process on the same database. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function startMeasured(options: OrganizationOptions = {}): Promise<Measured> {
  const fixed = {
    TRUSTWARD_LISTEN: '127.0.0.1:0',
    TRUSTWARD_METRICS_LISTEN: '127.0.0.1:0',
    TRUSTWARD_SCHEDULE: '0 0 1 1 *',
    TRUSTWARD_WATCH: '0s',
  };
  const org = await startOrganization({ devices: 60, compromised: 2, ...options, env: { ...fixed, ...options.env } });
  let daemon = await startDaemon(org.composition);
  // A connection that was kept may have ended unseen, while this process waited for a program.
  const once = { headers: { connection: 'close' } };
  const scrape = async () => scrapeOf(await (await fetch(`${daemon.metricsUrl}/metrics`, once)).text());
  return {
    org,
    get daemon() {
      return daemon;
    },
    scrape,
    until: async (isSo) => {
      for (;;) {
        const found = await scrape();
        if (isSo(found)) return found;
        await systemClock.sleep(50);
      }
    },
    restart: async () => {
      await daemon.stop();
      await org.restart();
      daemon = await startDaemon(org.composition);
    },
    close: async () => {
      await daemon.stop();
      await org.close();
    },
  };
}

export interface Scrape {
  text: string;
  /** Of one series, such as `trustward_mode{mode="off"}`; undefined when it is absent. */
  value(series: string): number | undefined;
  /** All series of a metric, as text. */
  seriesOf(name: string): string[];
}

export function scrapeOf(text: string): Scrape {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const values = new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
  return {
    text,
    value: (series) => values.get(series),
    seriesOf: (name) => [...values.keys()].filter((key) => key === name || key.startsWith(`${name}{`)),
  };
}

/** A request with a Host header of its own, which fetch does not send. */
export function statusFor(url: string, method: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.on('error', reject);
    sent.end();
  });
}
