// An organization in which everything has happened that pages show: bans that succeeded, failed and are in doubt, plans that wait and that were
// applied, an exemption, a service with errors, hostile and non-Latin names. In: nothing. Out: its daemon, and the addresses of its pages.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Plan } from '../../../src/domain/plan.ts';
import { exempt } from '../../../src/engine/operate/exempt.ts';
import { askExemption } from '../../../src/engine/operate/exemption-requests.ts';
import { applyPlan, approvePart } from '../../../src/engine/operate/plans.ts';
import { writeReport } from '../../../src/faces/report/index.ts';
import { startDaemon } from '../../../src/runtime/daemon/daemon.ts';
import { systemClock } from '../../../src/runtime/system/clock.ts';
import { BAN_COMPROMISED, DISABLE_FAILING, type Organization, startOrganization } from '../../support/organization.ts';

const HOSTILE = `<script>alert(1)</script>\u202egnp"'&\n${'x'.repeat(10_000)}`;
/** Of devices that the rule matches, and of their owners. The first three are acted on; the others wait. */
const NAMES = ['陳大文 のノートパソコン', 'لابتوب أحمد', HOSTILE, "Эва's laptop", `<b>${'wide '.repeat(60)}`, 'Ana 🦊'];
const ACTED = 3;
const RULE = 'ban-compromised-device';
const BAN = BAN_COMPROMISED.replace('mode: enforce', 'mode: approve')
  .replace('title: Ban devices', 'title: Ban <i>devices</i>')
  .replace('revert: true', 'revert: true\nrollout: { steps: [100%], each: 1h }\nlimits: { max: 20, percent: 100 }');

interface Ids {
  device: string;
  hostile: string;
  service: string;
  pending: string;
  applied: string;
  doubt: string;
  request: string;
}

export const WHOLE_PAGES = {
  overview: () => '/',
  runs: () => '/runs',
  'a dry run': () => '/runs/1',
  'a live run': () => '/runs/2',
  plans: () => '/plans',
  'a pending plan': (of) => `/plans/${of.pending}`,
  'an applied plan': (of) => `/plans/${of.applied}`,
  rules: () => '/rules',
  'a rule': () => `/rules/${RULE}`,
  'what a rule led to': () => `/rules/${RULE}/decisions`,
  'a box to try a rule': () => `/rules/${RULE}/try`,
  'a replay': () => `/replay?rule=${RULE}`,
  'in force': () => '/in-force',
  devices: () => '/devices?sort=level&order=desc',
  users: () => '/users',
  services: () => '/services',
  exemptions: () => '/exemptions',
  'a request for an exemption': (of) => `/exemptions/requests/${of.request}`,
  'the inbox': () => '/inbox',
  'an intent in doubt': (of) => `/intents/${of.doubt}`,
  health: () => '/health',
  audit: () => '/audit',
  'an audit entry': () => '/audit/20',
  tokens: () => '/tokens',
  'the documentation of the endpoint': () => '/docs',
  'a search for several': () => '/search?q=Twin',
  'a search for nothing': () => '/search?q=%3Cb%3Enobody',
  'a device': (of) => `/subjects/device/${of.device}`,
  'a device of a hostile name': (of) => `/subjects/device/${of.hostile}`,
  'the history of a device': (of) => `/subjects/device/${of.device}/history`,
  'why a rule matches': (of) => `/subjects/device/${of.device}/rules/${RULE}`,
  'a user': () => '/subjects/user/owner0%40acme.example',
  'a service': (of) => `/subjects/service/${encodeURIComponent(of.service)}`,
} as const satisfies { [title: string]: (of: Ids) => string };
export type WholePage = keyof typeof WHOLE_PAGES;

export interface WholeOrganization {
  url: string;
  token: string;
  /** Addresses by what they show. */
  paths: Record<WholePage, string>;
  /** Of the HTML report of a run. */
  reportFile: string;
  org: Organization;
  /** The subjects and nouns that the paths lead to. */
  of: Ids;
  close(): Promise<void>;
}

export async function startWhole(env: Record<string, string> = {}): Promise<WholeOrganization> {
  const org = await startOrganization({
    devices: 30,
    rules: { ban: BAN, service: DISABLE_FAILING },
    env: {
      TRUSTWARD_LISTEN: '127.0.0.1:0',
      TRUSTWARD_SCHEDULE: '0 0 1 1 *',
      TRUSTWARD_QUIET_PERIOD: '1h',
      TRUSTWARD_RATE_LIMIT: '0',
      TRUSTWARD_PEOPLE_URL: 'https://people.example.com',
      ...env,
    },
  });
  const named = fill(org);
  const { store } = org.composition.engine;
  await org.run('dry-run');
  const { run } = await org.run('enforce');
  const waiting = (await store.plan(run.planId as string)) as Plan;
  const applied = await act(org, waiting);
  const daemon = await startDaemon(org.composition);
  while ((await store.latestRun())?.seq !== 3 || (await store.latestRun())?.status === 'running')
    await systemClock.sleep(20);
  const [pending] = await store.planLines({ status: 'pending' }, { limit: 1 });
  const reportFile = join(org.dir, 'report.html');
  const last = await store.latestRun();
  if (!last || !pending) throw new Error('the organization has no plan that waits');
  await writeFile(reportFile, writeReport(store, last, 'html'));
  const doubt = await store.newestIntents({ outcome: 'unknown' }, 1);
  const { id: request } = await askExemption(org.composition.engine, {
    ...{
      person: `owner${ACTED - 1}@acme.example`,
      device: named.hostile,
      reason: HOSTILE.slice(0, 500),
      forMs: 86_400_000,
    },
  });
  const of = { ...named, pending: pending.id, applied, doubt: doubt.rows[0]?.id as string, request };
  return {
    url: daemon.url,
    token: readFileSync(daemon.tokenPlace, 'utf8').trim(),
    reportFile: pathToFileURL(reportFile).href,
    paths: Object.fromEntries(
      Object.entries(WHOLE_PAGES).map(([title, pathOf]) => [title, pathOf(of)]),
    ) as WholeOrganization['paths'],
    org,
    of,
    close: async () => {
      await daemon.stop();
      await org.close();
    },
  };
}

function fill({ console: { fleet } }: Organization): Pick<Ids, 'device' | 'hostile' | 'service'> {
  const ids = NAMES.map((name, at) => {
    fleet.addUser(`owner${at}@acme.example`, name);
    const fields = { serial: `WHOLE-${at}`, friendly_name: name, mdm_compromised: 'TRUE' } as const;
    return fleet.addDevice(fields as never, [`owner${at}@acme.example`]);
  });
  for (const at of [1, 2]) fleet.addDevice({ serial: `TWIN-${at}`, friendly_name: 'Twin' } as never, []);
  const service = fleet.addService('<u>Rechnungen</u> 請求', 'cluster-1');
  for (let at = 0; at < 5; at += 1)
    fleet.addEvent({ type: 'Service', subType: 'Access', action: 'Denied', severity: 'ERROR', serviceId: service });
  return { device: ids[0] as string, hostile: ids[ACTED - 1] as string, service };
}

/** Approves a part of a plan and applies it: one ban fails, one is in doubt, one succeeds. Returns the plan of that part. */
async function act({ composition: { engine }, console: { faults } }: Organization, plan: Plan): Promise<string> {
  const about = { reason: 'a <b>test</b> device', owner: 'ana', until: '1d' };
  await exempt(engine, { ...about, subject: { kind: 'device', id: `WHOLE-${NAMES.length - 1}` } }, 'ana (test)');
  const keys = plan.intents.filter(({ action }) => action === 'ban_device').map(({ key }) => key);
  const chosen = { rules: [], only: [], except: [], keys: keys.slice(0, ACTED) };
  const part = await approvePart(engine, plan.id, chosen, { by: 'ana (test)', reason: 'seen <b>so</b>' });
  const match = { method: 'POST' } as const;
  faults?.set([
    { kind: 'error', status: 400, match, times: 1 },
    { kind: 'reset_before', match, skip: 1, times: 1 },
  ]);
  await applyPlan(engine, part.plan.id, { by: 'ana (test)' });
  faults?.clear();
  return part.plan.id;
}
