// report, terminal: readable in 100 columns, and no name controls the terminal.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { auditText, decisionsText } from '../../../src/faces/report/lists-text.ts';
import { terminalTable, textWidth } from '../../../src/faces/report/terminal-table.ts';
import { reportText } from '../../../src/faces/report/text.ts';
import { addRun, decision, openStore, plan, type RunFill, tally } from '../../support/filled-store.ts';
import { hostileText } from './hostile.ts';

async function textOf(fill: RunFill, width?: number): Promise<string> {
  const store = openStore();
  return reportText(await buildReport(store, await addRun(store, fill)), width === undefined ? {} : { width });
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map(textWidth));
}

describe('the terminal report', () => {
  it('answers why a laptop would be banned, since when and by which rule', async () => {
    const text = await textOf({ decisions: [decision()] });
    expect(text).toContain('WOULD ACT (1)  ban_device by rule ban-compromised-device');
    expect(text).toMatch(/│ Ana laptop .*\n│ device-1 /);
    expect(text).toContain('MdmData.CompromisedStatus = "TRUE"');
    expect(text).toMatch(/2026-11-21 08:59:00Z/);
  });

  it('shows the change that would have given another verdict, in the column of the reasons', async () => {
    const changes = [{ fact: 'MdmData.CompromisedStatus', from: 'TRUE', to: 'FALSE\u202e' }];
    const text = await textOf({ decisions: [decision({ flip: { verdict: 'no_match', changes } })] }, 300);
    expect(text).toContain('it would not match if MdmData.CompromisedStatus were "FALSE');
    expect(text).not.toContain('\u202e');
  });

  it('shows name, serial number and owners of each device, where they are known', async () => {
    const id = '7d2f3a54-1111-2222-3333-444455556666';
    const known = { platform: 'macOS', model: 'Mac14,2', serial: 'VMware-56 4d 1c', owners: ['ana@acme.example'] };
    const effect = { text: 'notify', devices: [{ id, name: 'Ana laptop', ...known }] };
    const about = { subject: { kind: 'device' as const, id }, effect };
    const unknown = { subject: 'device-7', verdict: 'unknown' as const, reason: 'MdmData is missing' };
    const example = { ...unknown, name: 'Bob phone', serial: 'C02MQHAHEA', owners: ['bob@acme.example'] };
    const fill: RunFill = {
      decisions: [
        decision({ ...about, action: 'notify', target: id }),
        decision({ ...about, id: 'skipped', decision: 'skip', reason: 'exempt', reasonText: 'exempt' }),
      ],
      tallies: [tally({ unknown: 2, examples: [example, { ...unknown, subject: 'device-8' }] })],
    };
    for (const width of [80, 100, 160]) {
      const text = await textOf(fill, width);
      expect(text).toMatch(/ Ana laptop .*\n.* serial VMware-56 4d 1c .*\n.* owner ana@acme.example .*\n.* 7d2f3a54-/);
      for (const whole of ['VMware-56 4d 1c', 'ana@acme.example', id]) expect(text.split(whole)).toHaveLength(3);
      const flat = text.replace(/[\s│]+/g, ' ');
      expect(flat).toContain('Ana laptop, VMware-56 4d 1c,');
      expect(flat).toContain(`ana@acme.example (${id}): exempt`);
      expect(flat).toContain('MdmData is missing: Bob phone, C02MQHAHEA, bob@acme.example (device-7) device-8');
      expect(widest(text)).toBeLessThanOrEqual(width);
    }
  });

  it('shows no number for a source that was not read', async () => {
    const unread = { state: 'skipped', count: 0 } as const;
    const text = await textOf({ sources: { users: unread, services: unread, events: unread } });
    expect(text).toMatch(/judged \d+ devices\./);
    expect(text).not.toContain('0 users');
  });

  it('does not announce matches of a rule of mode dry-run as actions', async () => {
    const text = await textOf({
      mode: 'enforce',
      decisions: [decision({ cappedBy: undefined })],
      tallies: [tally({ mode: 'dry-run' })],
    });
    expect(text).toContain('ONLY REPORTED (RULES OF MODE DRY-RUN) (1)  ban_device by rule ban-compromised-device');
    expect(text).not.toContain('WOULD ACT');
  });

  it('shows what would hold a match of a rule of mode dry-run, and holds nothing of it', async () => {
    const reasonText = 'it would be held: 30 targets at once';
    const text = await textOf({
      mode: 'enforce',
      decisions: [decision({ cappedBy: undefined, reason: 'limits', reasonText })],
      tallies: [tally({ mode: 'dry-run' })],
    });
    expect(text.replaceAll('\n', ' ')).toContain('is only reported; 1 would be held if the');
    expect(text).toContain('0 held for a person');
    expect(text).toContain(reasonText);
  });

  it('shows for what a ceiling holds that it waits for no person', async () => {
    const capped = decision({ decision: 'hold', reason: 'ceiling', reasonText: '5 of 5', outcome: undefined });
    const text = await textOf({ mode: 'enforce', decisions: [capped] });
    expect(text).toContain('HELD UNTIL A CEILING ALLOWS IT (1)');
    expect(text).not.toContain('HELD FOR A PERSON');
  });

  it('prints the command that answers a plan on a line of its own', async () => {
    const held = decision({ decision: 'hold', reason: 'approval_needed', reasonText: 'ask', outcome: undefined });
    const text = await textOf({ mode: 'enforce', decisions: [held], plan: plan(held) });
    expect(text).toContain('HELD FOR A PERSON (1)');
    expect(text).toContain('\n  trustward approve plan1\n  trustward reject plan1\n');
  });

  it('fits into 100 columns, and into a given width', async () => {
    const id = '7d2f3a54-1111-2222-3333-444455556666';
    const long = decision({
      subject: { kind: 'device', id },
      subjectName: 'A rather long name of a laptop',
      facts: { 'event_count({"action":"Unauthorized","severity":"ERROR","within":"10m"})': 5 },
    });
    const tallies = [tally({ unknown: 1, missing: { 'TrustData.Factors.0.Something.Long': 1 } })];
    for (const width of [72, 100, 140]) {
      expect(widest(await textOf({ mode: 'enforce', decisions: [long], tallies }, width))).toBeLessThanOrEqual(width);
    }
  });

  it('breaks an identifier, and never shortens it', () => {
    const id = 'x'.repeat(90);
    const table = terminalTable(['Who', 'Why'], [[id, 'because of this and that']], { width: 60 });
    expect(table.match(/x/g)).toHaveLength(90);
    expect(widest(table)).toBeLessThanOrEqual(60);
  });

  it('uses no color: it is read in pipes and tickets too', () => {
    expect(terminalTable(['Who'], [['a']])).not.toContain('\u001b');
  });

  it('shows what a deletion takes from whom, and lets no address control the terminal', async () => {
    const store = openStore();
    const deletion = { devices: ['d1'], owners: ['eve\u001b[31m@x', 'bob@x'], certificates: 2, users: ['bob@x'] };
    const held = decision({
      decision: 'hold',
      reason: 'approval_needed',
      action: 'delete_device',
      outcome: undefined,
      effect: { text: 'delete', devices: [], deletion },
    });
    const run = await addRun(store, { mode: 'enforce', decisions: [held], plan: plan(held) });
    const texts = [
      reportText(await buildReport(store, run), { width: 200 }),
      decisionsText(await store.decisions({ limit: 10 })),
    ];
    for (const text of texts) {
      const words = text.replace(/[\s│|]+/g, ' ');
      expect(words).toContain('revokes 2 certificates');
      expect(words).toContain('bob@x');
      expect(text).not.toContain('\u001b');
    }
  });

  it('lets no name control the terminal', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(hostileText, async (name) => {
        const store = openStore();
        const hostile = decision({
          subject: { kind: 'device', id: name },
          subjectName: name,
          target: name,
          reasonText: name,
          facts: { [name]: name },
          effect: { text: name, devices: [{ id: `${name}x`, name, platform: name, model: name }] },
        });
        const run = await addRun(store, {
          decisions: [
            hostile,
            { ...hostile, id: 'b', decision: 'skip', reason: 'already_so' },
            { ...hostile, id: 'c', decision: 'hold', reason: 'owners' },
          ],
          tallies: [
            tally({
              unknown: 1,
              missing: { [name]: 1 },
              examples: [{ subject: name, verdict: 'error', reason: name }],
            }),
          ],
        });
        const printed = [
          reportText(await buildReport(store, run)),
          decisionsText(await store.decisions({ limit: 10 })),
          auditText(await store.audit({ limit: 10 })),
        ].join('');
        expect(printed.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/u);
        expect(printed).not.toMatch(/\p{Cs}/u);
      }),
      { numRuns: 60 },
    );
  });
});

describe('decisions and audit entries in a terminal', () => {
  it('show each decision with its rule, reason and facts', async () => {
    const store = openStore();
    await addRun(store, { decisions: [decision()] });
    const text = decisionsText(await store.decisions({ limit: 10 }));
    expect(text).toMatch(/Ana laptop/);
    expect(text).toContain('ban_device SERIAL-1');
    expect(text).toContain('would act: the rule');
    expect(widest(text)).toBeLessThanOrEqual(100);
  });

  it('say that a live run acts, and that a dry one would act or only reports', async () => {
    const store = openStore();
    const kinds = [
      decision({ id: 'a', mode: 'enforce', cappedBy: undefined, outcome: 'succeeded' }),
      decision({ id: 'b', cappedBy: 'daemon' }),
      decision({ id: 'c', cappedBy: undefined }),
    ];
    await addRun(store, { decisions: kinds });
    const text = decisionsText(await store.decisions({ limit: 10 }), { width: 160 });
    expect(text).toMatch(/ act: the rule matches/);
    expect(text).toMatch(/ would act: the rule matches.*\n.*lowered to mode dry-run: no more was allowed/);
    expect(text).toMatch(/ only reported: the rule matches/);
    expect(text).not.toContain('dry_run');
  });

  it('show each audit entry with its number and content', async () => {
    const store = openStore();
    await addRun(store, { decisions: [decision()] });
    const text = auditText(await store.audit({ limit: 10 }));
    expect(text).toContain('decision.made');
    expect(text).toContain('decision = "decision1"');
  });

  it('have a note when there are none', () => {
    expect(decisionsText([])).toBe('no decisions\n');
    expect(auditText([])).toBe('no audit entries\n');
  });
});
