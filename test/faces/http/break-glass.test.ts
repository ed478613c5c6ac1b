// http: break glass needs scope `admin` and a reason, over the endpoint and on the page of a plan; what reaches the engine.
import { describe, expect, it } from 'vitest';
import { parseWindows } from '../../../src/domain/change-window.ts';
import { planView } from '../../../src/faces/report/plan-view.ts';
import { openEndpoint } from '../../support/endpoint.ts';
import { addRun, decision, plan } from '../../support/filled-store.ts';
import { openPlan, planned } from '../../support/plan-pages.ts';

const NEVER = parseWindows('2001-01-01 00:00-2001-01-02 00:00', 'UTC').windows;
const NOW = parseWindows('2026-11-20 00:00-2026-11-30 00:00', 'Europe/Berlin').windows;

/** An endpoint that notes what its plans are asked. */
async function asked() {
  const calls: object[] = [];
  const stored = plan(decision());
  const note = async (input: object) => {
    calls.push(input);
    return { ...planView(stored), applied: null, rest: null, missed: [] };
  };
  const endpoint = openEndpoint({ operations: { approvePlan: note, applyPlan: note, rejectPlan: note } });
  await addRun(endpoint.store, { plan: stored });
  return { ...endpoint, calls };
}

describe('over the endpoint', () => {
  it.each(['approve', 'apply'])(
    '%s with breakGlass is refused below scope admin, and nothing is done',
    async (verb) => {
      const { ask, calls } = await asked();
      const body = { breakGlass: true, reason: 'an outbreak' };
      const refused = await ask('POST', `/api/plans/plan1/${verb}`, { scope: 'approve', body });
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({ detail: expect.stringContaining('`admin` is needed') });
      expect(calls).toEqual([]);
      expect((await ask('POST', `/api/plans/plan1/${verb}`, { scope: 'admin', body })).status).toBe(200);
      expect(calls).toHaveLength(1);
    },
  );

  it.each(['approve', 'apply'])('%s with breakGlass needs a reason', async (verb) => {
    const { ask, calls } = await asked();
    const refused = await ask('POST', `/api/plans/plan1/${verb}`, { scope: 'admin', body: { breakGlass: true } });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('is required with breakGlass');
    expect(calls).toEqual([]);
  });

  it('the reason reaches the engine, and without breakGlass nothing is broken', async () => {
    const { ask, calls } = await asked();
    await ask('POST', '/api/plans/plan1/apply', { scope: 'admin', body: { breakGlass: true, reason: 'an outbreak' } });
    await ask('POST', '/api/plans/plan1/apply', { scope: 'approve', body: {} });
    await ask('POST', '/api/plans/plan1/approve', { scope: 'approve', body: { reason: 'fine' } });
    expect(calls).toMatchObject([
      { breakGlass: true, reason: 'an outbreak' },
      { breakGlass: false },
      { breakGlass: false, reason: 'fine' },
    ]);
  });
});

describe('the page of a plan', () => {
  const page = (changeWindows: typeof NOW) => openPlan([planned(1), planned(2)], { deps: { changeWindows } });

  it('shows the window and a box for who has scope admin, only while the window is in force', async () => {
    const [open, shut] = [await page(NOW), await page(NEVER)];
    const shown = await open.get('/plans/plan1', 'admin');
    expect(shown.text).toContain('is in force until Mon 2026-11-30 00:00 Europe/Berlin ( 2026-11-29 23:00:00 UTC )');
    expect(shown.html).toContain('name="breakGlass"');
    expect((await open.get('/plans/plan1', 'approve')).html).not.toContain('name="breakGlass"');
    expect((await shut.get('/plans/plan1', 'admin')).html).not.toContain('name="breakGlass"');
  });

  it('refuses the box of who has a lesser scope, or gives no reason', async () => {
    const pages = await page(NOW);
    const target = pages.plan.intents.map(({ key }) => key);
    const form = { digest: pages.plan.digest, target, breakGlass: 'yes' };
    expect((await pages.post('/plans/plan1/approve', { ...form, reason: 'an outbreak' }, 'approve')).status).toBe(403);
    expect((await pages.post('/plans/plan1/approve', form)).text).toContain('Break glass needs a reason');
    expect((await pages.stored()).status).toBe('pending');
  });

  it('names who let it through', async () => {
    const breakGlass = { at: Date.UTC(2026, 10, 21), by: 'ada', reason: 'an <b>outbreak</b>' };
    const pages = await openPlan([planned(1)], {
      deps: { changeWindows: NOW },
      over: { status: 'approved', breakGlass },
    });
    const { text, html } = await pages.get('/plans/plan1');
    expect(text).toContain('let through by ada');
    expect(html).not.toContain('<b>outbreak');
    expect(text).not.toContain('is in force until');
  });
});

it('the overview shows the window in force', async () => {
  const { get } = await openPlan([planned(1)], { deps: { changeWindows: NOW } });
  expect((await get('/')).text).toContain('1 plan waits for a yes. The change window');
});
