// report, terminal: readable in 100 columns, ids stay whole, and no name controls the terminal: a run, its tables, and plans.
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { clip, shownName } from '../../../src/base/text.ts';
import type { Plan, PlanStatus } from '../../../src/domain/plan.ts';
import type { Why } from '../../../src/domain/why.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import type { Cell } from '../../../src/faces/report/fact-text.ts';
import { marked, whole } from '../../../src/faces/report/fact-text.ts';
import { auditText, auditViews, decisionsText } from '../../../src/faces/report/lists-text.ts';
import { plansText, planText } from '../../../src/faces/report/plan-text.ts';
import { charactersOf, paragraph, terminalTable, textWidth } from '../../../src/faces/report/terminal-table.ts';
import { stateWords } from '../../../src/faces/report/why-words.ts';
import { addRun, decision, openStore, plan, type RunFill, START_MS, tally } from '../../support/filled-store.ts';
import { reportText } from '../../support/readable.ts';
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
      expect(flat).toContain(`ana@acme.example (${id}): `);
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
    const reasonText = 'it would wait: 30 targets at once';
    const text = await textOf({
      mode: 'enforce',
      decisions: [decision({ cappedBy: undefined, reason: 'limits', reasonText })],
      tallies: [tally({ mode: 'dry-run' })],
    });
    expect(text.replaceAll('\n', ' ')).toContain('is only reported; 1 would wait if the');
    expect(text).not.toContain('for a yes');
    expect(text).toContain(reasonText);
  });

  it('shows for what a ceiling holds that it waits for no person', async () => {
    const capped = decision({ decision: 'hold', reason: 'ceiling', reasonText: '5 of 5', outcome: undefined });
    const text = await textOf({ mode: 'enforce', decisions: [capped] });
    expect(text).toContain('WAITS UNTIL A CEILING ALLOWS IT (1)');
    expect(text).not.toContain('WAITS FOR A YES');
  });

  it('prints the command that answers a plan on a line of its own', async () => {
    const held = decision({ decision: 'hold', reason: 'approval_needed', reasonText: 'ask', outcome: undefined });
    const text = await textOf({ mode: 'enforce', decisions: [held], plan: plan(held) });
    expect(text).toContain('WAITS FOR A YES (1)');
    expect(text).toMatch(
      /\n {2}trustward approve plan1 --digest [0-9a-f]{16}\n {2}trustward reject plan1 --digest [0-9a-f]{16}\n/,
    );
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
          auditText(await auditViews(store, await store.audit({ limit: 10 }))),
        ].join('');
        expect(printed.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/u);
        expect(printed).not.toMatch(/\p{Cs}/u);
      }),
      { numRuns: 20 },
    );
  });
});

describe('decisions and audit entries in a terminal', () => {
  it('show each decision with its rule, reason and facts', async () => {
    const store = openStore();
    await addRun(store, { decisions: [decision()] });
    const text = decisionsText(await store.decisions({ limit: 10 }));
    expect(text).toMatch(/Ana laptop/);
    expect(text).toMatch(/ban_device +SERIAL-1 +would act: the rule/);
  });

  it('say that a live run acts, and that a dry one would act or only reports', async () => {
    const store = openStore();
    const kinds = [
      decision({ id: 'a', mode: 'enforce', cappedBy: undefined, outcome: 'succeeded' }),
      decision({ id: 'b', cappedBy: 'daemon' }),
      decision({ id: 'c', cappedBy: undefined }),
    ];
    await addRun(store, { decisions: kinds });
    const text = decisionsText(await store.decisions({ limit: 10 }));
    expect(text).toMatch(/ act: the rule matches/);
    expect(text).toMatch(/ would act: the rule matches, lowered to mode dry-run: no more was allowed/);
    expect(text).toMatch(/ only reported: the rule matches/);
    expect(text).not.toContain('dry_run');
  });

  it('show each audit entry with its number and content', async () => {
    const store = openStore();
    await addRun(store, { decisions: [decision()] });
    const text = auditText(await auditViews(store, await store.audit({ limit: 10 })));
    expect(text).toContain('decision.made');
    expect(text).toContain('It was decided');
  });

  it('have a note when there are none', () => {
    expect(decisionsText([])).toBe('no decisions\n');
    expect(auditText([])).toBe('no audit entries\n');
  });
});

describe('report, tables', () => {
  const ID = '7d2f3a54-1111-2222-3333-444455556666';
  const RULE = 'ban-compromised-device';
  const ROW = [['Ana laptop', ID], 'C02XL0GYJGH5', 'MdmData.CompromisedStatus = "TRUE"', [RULE, 'ban_device'], 'held'];
  const HEAD = ['Who', 'Serial number', 'Why', 'Rule', 'Outcome'];

  afterEach(() => vi.restoreAllMocks());

  /** Characters that were measured while a table of cells of this length was made. */
  function measuredFor(length: number): number {
    const spy = vi.spyOn(Intl.Segmenter.prototype, 'segment');
    terminalTable(['Who', 'Why'], [['雪'.repeat(length), '雪の端末 '.repeat(length / 5)]], { width: 60 });
    const measured = spy.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    spy.mockRestore();
    return measured;
  }

  describe('a table', () => {
    it('costs twice as much for cells twice as long', () => {
      const once = measuredFor(1_500);
      const twice = measuredFor(3_000);
      expect(once).toBeGreaterThan(3_000);
      expect(twice / once).toBeLessThan(2.2);
    });

    it.each([60, 72, 80, 90, 100, 120, 160])('breaks no id in %s columns, and is no wider', (width) => {
      const table = terminalTable(HEAD, [ROW, ROW], { width });
      for (const whole of [ID, 'C02XL0GYJGH5', RULE, 'ban_device']) expect(table.split(whole)).toHaveLength(3);
      expect(Math.max(...table.split('\n').map(textWidth))).toBeLessThanOrEqual(width);
    });

    it('becomes a block for each row where the columns do not fit', () => {
      expect(terminalTable(HEAD, [ROW], { width: 72 })).toContain(`│ Who            Ana laptop`);
      expect(terminalTable(HEAD, [ROW], { width: 160 })).toContain('│ Who   ');
    });

    it.each([
      ['雪', 2],
      ['🦊', 2],
      ['👨‍👩‍👧', 2],
      ['🇩🇪', 2],
      ['❤️', 2],
      ['e\u0301', 1],
      ['한', 2],
      ['\u1112\u1161\u11ab', 2],
      ['©', 1],
    ])('measures %s as %s columns', (text, width) => {
      expect(textWidth(text)).toBe(width);
    });

    it('keeps a command in backticks on one line', () => {
      expect(paragraph('It continues with the next run after `trustward resume --reason x`.', { width: 50 })).toContain(
        '`trustward resume --reason x`',
      );
    });
  });

  const letters = (minLength: number, maxLength: number) =>
    fc.string({ unit: fc.constantFrom(...'abcdefgh0123456789ABC'), minLength, maxLength });
  /** What is never broken: marked ids with any punctuation, and what looks like an id, an address or a command. */
  const token = fc.oneof(
    fc.uuid().map((text): [string, Cell] => [text, text]),
    letters(26, 26).map((text): [string, Cell] => [text, `done by action ${text} at noon`]),
    fc
      .tuple(letters(1, 60), letters(1, 12))
      .map(([a, b]): [string, Cell] => [`${a}@${b}.example`, `owner ${a}@${b}.example,`]),
    fc
      .constantFrom('ban-compromised-device', 'wiki.eu-west.tw', 'MdmData.CompromisedStatus')
      .map((text): [string, Cell] => [text, [text, 'and more']]),
    letters(26, 26).map((id): [string, Cell] => [
      `\`trustward approve ${id}\``,
      `To decide: \`trustward approve ${id}\`.`,
    ]),
    fc
      .array(letters(1, 9), { minLength: 1, maxLength: 9 })
      .map((parts) => `VMware={${parts.join(' ')}}`)
      .map((text): [string, Cell] => [text, marked('Ana laptop (', whole(text), '), and one more')]),
  );
  const prose = fc
    .array(fc.oneof(letters(1, 20), fc.constantFrom('雪の端末', 'event_count({"action":"Unauthorized"})', '')), {
      maxLength: 12,
    })
    .map((words): [undefined, Cell] => [undefined, words.join(' ')]);

  describe('a table of any cells, in any width', () => {
    it('has each id, address and command whole on one line, and no wider line than one of these needs', () => {
      const tables = fc.integer({ min: 1, max: 6 }).chain((columns) =>
        fc.record({
          head: fc.array(letters(1, 18), { minLength: columns, maxLength: columns }),
          rows: fc.array(fc.array(fc.oneof(token, prose), { minLength: columns, maxLength: columns }), {
            minLength: 1,
            maxLength: 4,
          }),
          width: fc.integer({ min: 60, max: 200 }),
        }),
      );
      fc.assert(
        fc.property(tables, ({ head, rows, width }) => {
          const lines = terminalTable(
            head,
            rows.map((row) => row.map(([, cell]) => cell)),
            { width },
          ).split('\n');
          const tokens = rows.flat().flatMap(([text]) => text ?? []);
          for (const text of tokens) expect(lines.some((line) => line.includes(text))).toBe(true);
          const needed = Math.max(width, ...tokens.map((text) => textWidth(text) + 6));
          expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(needed);
        }),
        { seed: 20_261_122, numRuns: 1_000 },
      );
    });

    it('leaves out a column without any text', () => {
      const table = terminalTable(
        ['Source', 'Notes', 'Count'],
        [
          ['devices', '', '400'],
          ['users', [], '12'],
        ],
      );
      expect(table).not.toContain('Notes');
      expect(table).toContain('│ devices │ 400   │');
    });
  });

  describe('a long name', () => {
    it('is cut to 120 characters, between whole ones', () => {
      expect([...shownName('x'.repeat(100_000))]).toHaveLength(120);
      expect(shownName('x'.repeat(120))).toBe('x'.repeat(120));
      expect(shownName('🦊'.repeat(121))).toBe(`${'🦊'.repeat(119)}…`);
      expect(clip('ab👨‍👩‍👧', 5)).toBe('ab…');
      expect([...shownName(`a${'\u0301'.repeat(1_000)}`)]).toHaveLength(120);
    });
  });
});

const context = { nowMs: START_MS, run: 1, live: [], difference: null, revisions: [] };
const held = decision({ decision: 'hold', reason: 'approval_needed', reasonText: 'the rule has mode `approve`' });
const shown = (over: Partial<Plan>, nowMs = START_MS) => planText(plan(held, over), { ...context, nowMs });

describe('a plan as text', () => {
  it('has no control and no override of a hostile name, target or reason', () => {
    fc.assert(
      fc.property(hostileText, (name) => {
        const made = decision({
          target: name,
          effect: { text: name, devices: [{ id: name, name, platform: '', model: '' }] },
        });
        const hostile = plan(made, { decidedBy: 'ada', decidedReason: name });
        for (const text of [planText(hostile, context), plansText([hostile], START_MS)])
          expect(text).not.toMatch(/(?![\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it.each([
    [0, 'expires in 1d 0h'],
    [1, 'expires in 23h 59m'],
    [82_800_000, 'expires in 1h 0m'],
    [86_400_000 - 120_000, 'expires in 2m'],
    [86_400_000 - 59_000, 'expires in less than a minute'],
    [86_400_000, 'expired 2'],
  ])('says after %i ms how long it waits on', (passed, words) => {
    expect(shown({}, START_MS + passed).replace(/\s+/g, ' ')).toContain(words);
  });

  it.each<[PlanStatus, string | undefined]>([
    ['pending', 'trustward approve plan1'],
    ['approved', 'trustward apply plan1'],
    ['interrupted', 'trustward apply plan1'],
    ['applied', undefined],
  ])('that is %s names the command that comes next', (status, line) => {
    const text = shown({ status });
    if (line === undefined) expect(text).not.toContain('  trustward');
    else expect(text).toContain(`  ${line}`);
  });

  it('shows the facts on which each action rests, and why it waits', () => {
    const text = planText(plan(held), context, { width: 400 });
    expect(text).toContain('MdmData.CompromisedStatus = "TRUE"');
    expect(text).toContain('the rule has mode `approve`');
  });

  it('that is superseded names what is in its place', () => {
    const over: Partial<Plan> = { status: 'superseded', supersededBy: ['p2'] };
    const text = planText(plan(held, over), { ...context, difference: { added: 2, removed: 1, changed: 0 } });
    expect(text).toContain('It is superseded by plan p2: 2 added, 1 removed.');
  });
});

describe('the width of a text', () => {
  /** Whatever is plain by itself is measured letter by letter beside a letter that is not. */
  it('measures each letter alone as it does among others', () => {
    const letters = Array.from({ length: 0x3000 - 0x20 }, (_, at) => String.fromCharCode(at + 0x20));
    const different = letters.filter((letter) => textWidth(letter) !== textWidth(`${letter}\n日`) - textWidth('\n日'));
    expect(different).toEqual([]);
  });

  it('finds the same characters in a plain text as among others', () => {
    const text = 'Ørjan’s “iPhone” — 3 ≥ 2 → done…';
    const among = [...charactersOf(`${text}日`)];
    expect([...charactersOf(text), { text: '日', width: 2 }]).toEqual(among);
  });
});

it('a ban for the facts of another device of the serial number names it', () => {
  const basis = ['d2', 'd1'].map((subjectId) => ({ rule: 'ban', subjectId, facts: { OS: '10' } }));
  const words = (of: number) => {
    const intent = {
      action: 'ban_device',
      target: 'S-1',
      outcome: 'succeeded',
      basis: basis.slice(0, of),
      createdAt: 0,
    };
    const state = { text: 'banned', target: 'S-1', isSo: true, isOwn: true, last: { intent, runSeq: 1 } };
    return stateWords({ states: [state], subject: { kind: 'device', id: 'd1' } } as unknown as Why).at(-1);
  };
  expect([words(1), words(2)]).toEqual(['because OS = "10" of d2', 'because OS = "10" of d2 and OS = "10"']);
});
