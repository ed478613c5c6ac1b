// report, Markdown and CSV: pasted into a ticket or a spreadsheet, whatever a device calls itself, and however long its name is.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../src/base/time.ts';
import { buildReport } from '../../../src/faces/report/build-report.ts';
import { reportCsvPieces } from '../../../src/faces/report/csv.ts';
import { views } from '../../../src/faces/report/index.ts';
import { md } from '../../../src/faces/report/markdown.ts';
import {
  addLiveRun,
  addRun,
  decision,
  intent,
  openStore,
  plan,
  type RunFill,
  START_MS,
  tally,
} from '../../support/filled-store.ts';
import { reportMarkdown } from '../../support/readable.ts';
import { hostileText } from './hostile.ts';

async function markdownOf(fill: RunFill): Promise<string> {
  const store = openStore();
  return reportMarkdown(await buildReport(store, await addRun(store, fill)));
}

describe('the Markdown report', () => {
  it('shows who a dry run would ban, by which serial number, why and since when', async () => {
    const text = await markdownOf({ decisions: [decision()] });
    expect(text).toContain('# Trustward: dry run, 2026-11-21 09:00:00 UTC');
    expect(text).toContain('\n\n**Would ban 1 device (owners not known); nothing was changed.**\n\n');
    expect(text).toContain('A live run would act on 1 match.');
    expect(text).toContain('## Would act (1)');
    expect(text).toContain('(lowered to mode dry-run by the run)');
    expect(text).toContain(
      '| Ana laptop<br>device-1 | SERIAL-1 | MdmData.CompromisedStatus = "TRUE" | 2026-11-21 08:59:00Z |',
    );
    expect(text).not.toContain('## Acted on');
  });

  it('shows the change that would have given another verdict, whatever its names and values are', async () => {
    const changes = [
      { fact: 'MdmData.CompromisedStatus', from: 'TRUE', to: 'FALSE' },
      { fact: 'Groups', from: 'a|b', to: 'a|b,<script>' },
      { fact: 'OS', from: 'x', to: undefined },
    ];
    const text = await markdownOf({ decisions: [decision({ flip: { verdict: 'no_match', changes } })] });
    expect(text).toContain(
      `<br>${md('it would not match if MdmData.CompromisedStatus were "FALSE" and Groups were "a|b,<script>" and OS were absent')} |`,
    );
    const back = await markdownOf({
      decisions: [decision({ flip: { verdict: 'match', changes: changes.slice(0, 1) } })],
    });
    expect(back).toContain('<br>it would match if MdmData.CompromisedStatus were "FALSE" |');
  });

  it('promises no action of a live run for a rule whose own mode is dry-run', async () => {
    const text = await markdownOf({
      decisions: [decision({ cappedBy: undefined })],
      tallies: [tally({ mode: 'dry-run' })],
    });
    expect(text).toContain('A live run would act on 0 matches. 1 match of rules in mode dry-run is only reported.');
    expect(text).toContain('## Only reported (rules of mode dry-run) (1)');
    expect(text).not.toContain('## Would act');
  });

  it.each(['dry-run', 'enforce'] as const)(
    'counts under "Would act" what its summary counts, in a run of mode %s',
    async (mode) => {
      const dry = { mode: 'dry-run' as const, outcome: 'dry_run' as const };
      const reporting = { ...dry, rule: 'report-jailbroken', cappedBy: undefined };
      const text = await markdownOf({
        mode,
        decisions: [
          decision({ ...dry, cappedBy: mode === 'enforce' ? 'daemon' : 'run' }),
          decision({ ...reporting, id: 'd2', target: 'SERIAL-2' }),
          decision({ ...reporting, id: 'd3', target: 'SERIAL-3' }),
        ],
        tallies: [tally(), tally({ rule: 'report-jailbroken', mode: 'dry-run' })],
      });
      expect(text).toMatch(/A live run would act on 1 match\.|1 match would be acted on if the mode allowed it\./);
      expect(text).toContain('2 matches of rules in mode dry-run are only reported.');
      expect(text).toContain('## Would act (1)');
      expect(text).toContain('## Only reported (rules of mode dry-run) (2)');
      expect(text).not.toContain('## Acted on');
    },
  );

  it('asks for no approval of what a ceiling holds', async () => {
    const capped = decision({ decision: 'hold', reason: 'ceiling', reasonText: '5 of 5 an hour', outcome: undefined });
    const text = await markdownOf({ decisions: [capped], plan: plan(capped, { mode: 'dry-run' }) });
    expect(text).toContain('## Waits until a ceiling allows it (1)');
    expect(text).toContain('1 waits until a ceiling allows it, 0 skipped');
    expect(text).toContain('Approving does not lift a ceiling');
    expect(text).not.toContain('trustward approve');
  });

  it('claims no action for a dry run that broke off', async () => {
    const text = await markdownOf({ decisions: [decision({ outcome: undefined })], error: 'the disk is full' });
    expect(text).toContain('## Would act (1)');
    expect(text).not.toContain('Acted on');
  });

  it('shows what is undone because the rule no longer matches', async () => {
    const undo = decision({
      verdict: 'no_match',
      reason: 'cleared',
      reasonText: 'no rule that did it matches any longer',
      action: 'unban_device',
      facts: { 'MdmData.CompromisedStatus': 'FALSE' },
    });
    const text = await markdownOf({ decisions: [undo] });
    expect(text).toContain('### 1 × `unban_device` by rule `ban-compromised-device`, undoing: ');
    expect(text).toContain('MdmData.CompromisedStatus = "FALSE"<br>no rule that did it matches any longer');
  });

  it('shows what a live run did, when, and the server’s answer', async () => {
    const store = openStore();
    const run = await addLiveRun(store);
    const text = reportMarkdown(await buildReport(store, run));
    expect(text).toContain('Acted on 1 match: 1 succeeded.');
    expect(text).toContain('## Acted on (1)');
    expect(text).toContain('succeeded 2026-11-21 09:00:00Z: Success');
  });

  it('shows how to decide on what is held', async () => {
    const held = decision({
      decision: 'hold',
      reason: 'approval_needed',
      reasonText: 'the rule has mode `approve`',
      outcome: undefined,
    });
    const text = await markdownOf({ mode: 'enforce', decisions: [held], plan: plan(held) });
    expect(text).toContain('## Waits for a yes (1)');
    expect(text).toContain('the rule has mode \\`approve\\`');
    expect(text).toContain('It waits in plan plan1, until 2026-11-22 09:00:00 UTC.');
    expect(text).toMatch(
      /`trustward approve plan1 --digest [0-9a-f]{16}` or `trustward reject plan1 --digest [0-9a-f]{16}`/,
    );
  });

  it.each([
    ['conflict', 'Approving does not help here'],
    ['other_first', 'It continues when that is done, rejected, or no longer proposed'],
  ] as const)('offers no approval for what no approval lifts: %s', async (reason, wayOut) => {
    const held = decision({
      decision: 'hold',
      reason,
      reasonText: 'rule x wants unban',
      outcome: undefined,
    });
    const text = await markdownOf({ mode: 'enforce', decisions: [held] });
    expect(text).toContain(wayOut);
    expect(text).not.toContain('trustward approve');
  });

  it('groups skipped decisions by reason, and caps the names', async () => {
    const skipped = Array.from({ length: 30 }, (_, index) =>
      decision({
        id: `skip${index}`,
        subject: { kind: 'device', id: `device-${index}` },
        decision: 'skip',
        reason: 'already_so',
        reasonText: 'Banned is already TRUE',
        outcome: undefined,
      }),
    );
    const text = await markdownOf({ decisions: skipped });
    expect(text).toContain('## Skipped (30)');
    expect(text).toContain('the target is already in the intended state (`already_so`) | 30 |');
    expect(text).toContain('and 20 more');
  });

  it('shows how many more there are when a list is too long for a ticket', async () => {
    const many = Array.from({ length: 45 }, (_, index) => decision({ id: `d${index}`, target: `SERIAL-${index}` }));
    const text = await markdownOf({ decisions: many });
    expect(text).toContain('## Would act (45)');
    expect(text).toContain('and 5 more: the JSON report has them all.');
  });

  it('shows which missing fact makes a rule unknown', async () => {
    const unknown = tally({
      unknown: 3,
      missing: { 'MdmData.Timestamp': 1, 'MdmData.CompromisedStatus': 2 },
      examples: [{ subject: 'device-7', verdict: 'unknown', reason: 'MdmData.CompromisedStatus is missing' }],
    });
    const text = await markdownOf({ tallies: [unknown] });
    expect(text).toContain('## Unknown (3)');
    expect(text).toContain('MdmData.CompromisedStatus (2)<br>MdmData.Timestamp (1)');
    expect(text).toContain('device-7: MdmData.CompromisedStatus is missing<br>and 2 more');
  });

  it('names an untrusted source, unreadable records and dropped secrets', async () => {
    const text = await markdownOf({
      sources: {
        devices: {
          trusted: false,
          reasons: [{ source: 'devices', code: 'shrunk', text: 'devices shrank from 2,000 to 900' }],
          unreadable: { count: 1, examples: ['record 3: DeviceID is not text'] },
        },
        services: { dropped: ['OIDCClientSpec.client_secret'] },
      },
    });
    expect(text).toContain('NOT TRUSTED, so nothing is done with that data: devices shrank from 2,000 to 900.');
    expect(text).toContain('1 unreadable record (record 3: DeviceID is not text)');
    expect(text).toContain('secrets dropped: OIDCClientSpec.client\\_secret');
  });

  it('names the other devices that a shared serial number affects', async () => {
    const devices = ['device-1', 'device-9'].map((id) => ({ id, name: '', platform: 'macOS', model: 'Mac14,2' }));
    const text = await markdownOf({ decisions: [decision({ effect: { text: 'ban', devices } })] });
    expect(text).toContain('Ana laptop<br>device-1<br>also affects device-9');
  });

  it('shows DEMO for the embedded console, and why a run was aborted', async () => {
    const text = await markdownOf({ demo: true, error: 'the API cannot be reached' });
    expect(text).toContain('(DEMO)');
    expect(text).toContain('This run was aborted: the API cannot be reached.');
  });

  it('shows a time stamp as an age with its date, a span of seconds as a span, and a count as a number', async () => {
    const facts = {
      'MdmData.Timestamp': 1_763_717_000_123_456_789n,
      LastLogin: 1_795_244_100_000_000_000n,
      SyncedAt: 1_763_717_000,
      'since_last_event(type=login within 1d)': 7_512.25,
      'event_count(severity>=ERROR within 10m)': 1_763_717_001,
      IMEI: '3571234567890123',
      SerialNumber: '1763717000123456789',
    };
    const text = await markdownOf({ decisions: [decision({ facts })] });
    expect(text).toContain('MdmData.Timestamp = 364 days (2025-11-21)<br>');
    expect(text).toContain('LastLogin = 2 h 5 min (2026-11-21 06:55Z)<br>');
    expect(text).toContain('SyncedAt = 1763717000 (364 days, 2025-11-21)<br>');
    expect(text).toContain('within 1d) = 2 h 5 min |');
    expect(text).toContain('within 10m) = 1763717001<br>');
    expect(text).toContain('IMEI = "3571234567890123"');
    expect(text).toContain('SerialNumber = "1763717000123456789"');
  });

  it('marks decisions of an earlier run that are still in force', async () => {
    const store = openStore();
    await addRun(store, { decisions: [decision()] });
    const later = await addRun(store, { id: 'run2', startedAt: START_MS + 60_000, tallies: [tally()] });
    expect(reportMarkdown(await buildReport(store, later))).toContain('(decided in run 1, 2026-11-21 09:00:00Z)');
  });

  it('shows the age of a fact at the time of the decision that it led to, not of a later report', async () => {
    const store = openStore();
    const idle = { LastLogin: BigInt(START_MS - 248 * DAY_MS) * 1_000_000n };
    await addRun(store, { decisions: [decision({ facts: idle })] });
    const later = await addRun(store, { id: 'run2', startedAt: START_MS + 9 * DAY_MS, tallies: [tally()] });
    expect(reportMarkdown(await buildReport(store, later))).toContain('LastLogin = 248 days (2026-03-18)');
  });

  it('lets no hostile name break out of its cell', async () => {
    const calm = await markdownOf({ decisions: everywhere('calm') });
    await fc.assert(
      fc.asyncProperty(hostileText, async (name) => {
        const text = await markdownOf({ decisions: everywhere(name) });
        expect(shapeOf(text)).toEqual(shapeOf(calm));
      }),
      { numRuns: 20 },
    );
  });

  it('leaves no special character of hostile text in effect', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const written = md(text);
        expect(written).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029]/u);
        const meaning = written.replace(/\\[\\`*_[\]|~$:.]/g, '').replace(/&(lt|gt|amp);/g, '');
        expect(meaning).not.toMatch(/[\\`*_[\]|~$<>&]/);
        expect(written).not.toMatch(/(?<!\\):\/\/|\bwww\.|(^|[^A-Za-z0-9])@[^\u200b\s]|#\w/i);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps an ordinary name and address unchanged', () => {
    expect(md("Ana's MacBook-Pro (2) ana@example.com")).toBe("Ana's MacBook-Pro (2) ana@example.com");
  });
});

/** A name in every place where a record's text can appear. */
function everywhere(name: string) {
  const effect = {
    text: name,
    devices: [{ id: `${name}x`, name, platform: name, model: name }],
    deletion: { devices: [name], owners: [name], certificates: 1, users: [name] },
  };
  const about = { subject: { kind: 'device' as const, id: name }, subjectName: name, target: name, effect };
  const skip = { decision: 'skip' as const, reason: 'already_so' as const, outcome: undefined };
  const hold = { decision: 'hold' as const, reason: 'owners' as const, outcome: undefined };
  return [
    decision({ ...about, id: 'a', facts: { [name]: name } }),
    decision({ ...about, id: 'b', ...skip, reasonText: name }),
    decision({ ...about, id: 'c', ...hold, reasonText: name }),
  ];
}

/** How a renderer reads each line: its beginning, and the number of its cells. */
function shapeOf(markdown: string): string[] {
  return markdown.split('\n').map((line) => {
    const cells = line.replaceAll('\\\\', '').replaceAll('\\|', '').split('|').length;
    return `${/^(#+ |\| |---|\w)/.exec(line)?.[1]?.replace(/\w/, 'w') ?? ''}${cells}${line.replaceAll('<br>', '').includes('<')}`;
  });
}

describe('report, CSV', () => {
  async function csvOf(fill: RunFill): Promise<string> {
    const store = openStore();
    return [...reportCsvPieces(await buildReport(store, await addRun(store, fill)))].join('');
  }

  /** RFC 4180, read strictly: a quote only stands around a cell, doubled inside. */
  function parsed(csv: string): string[][] {
    const rows: string[][] = [];
    const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
    const row: string[] = [];
    let end = 0;
    for (const [whole, quoted, plain, after] of csv.matchAll(pattern)) {
      row.push(quoted?.replaceAll('""', '"') ?? (plain as string));
      if (after === '\r\n') rows.push(row.splice(0));
      end += whole.length;
    }
    expect(end).toBe(csv.length);
    expect(row).toEqual([]);
    return rows;
  }

  function columnOf(csv: string, name: string): string[] {
    const [head = [], ...rows] = parsed(csv);
    return rows.map((row) => row[head.indexOf(name)] as string);
  }

  it('one row is one decision, under stable names of columns', async () => {
    const csv = await csvOf({ decisions: [decision(), decision({ id: 'b', target: 'S,"2"' })] });
    expect(parsed(csv)[0]).toEqual(
      [
        'decision_id,rule,subject_kind,subject_id,subject_name,serial_number,owners,verdict,since,decision,reason',
        'reason_text,action,target,effect,devices,mode,capped_by,outcome,outcome_text,facts,written_by_run,written_at',
        'change,in_plan',
      ]
        .join(',')
        .split(','),
    );
    expect(columnOf(csv, 'target').sort()).toEqual(['S,"2"', 'SERIAL-1']);
    expect(columnOf(csv, 'facts')[0]).toBe('{"MdmData.CompromisedStatus":"TRUE"}');
    expect(columnOf(csv, 'change')).toEqual(['new', 'new']);
  });

  it('a run without decisions has the names of the columns alone', async () => {
    expect(parsed(await csvOf({}))).toHaveLength(1);
  });

  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '  =1', '\u00a0=1', '＝1', '\u200d=1', '\ufeff@x', '"=1'])(
    'a name such as %j is text in a spreadsheet',
    async (subjectName) => {
      const [cell = ''] = columnOf(await csvOf({ decisions: [decision({ subjectName })] }), 'subject_name');
      expect(cell).toMatch(/^['"⟨]/);
      expect(cell).not.toMatch(/^\s*[=+\-@]/);
    },
  );

  it('no name makes a formula, a column, a row or a hidden character', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(hostileText, hostileText, async (subjectName, target) => {
        const csv = await csvOf({ decisions: [decision({ subjectName, target, reasonText: target })] });
        const rows = parsed(csv);
        expect(rows.map((row) => row.length)).toEqual([25, 25]);
        for (const cell of rows[1] as string[]) expect(cell).not.toMatch(/^[\s\u200c\u200d]*[=+\-@\t\r]/);
        expect(csv.replaceAll('\r\n', '')).not.toMatch(/[\p{Cc}\u200b\u202a-\u202e\u2066-\u2069\u2028\u2029]/u);
      }),
      { numRuns: 20 },
    );
  });

  it.each(['a;=1+1', 'a; +1', 'a;"=1"', 'a;;@SUM(1)', 'a;\uff1d1', ';-1', 'Ana; =1+1'])(
    'a program that separates at semicolons finds no formula in `%s`',
    async (subjectName) => {
      const csv = await csvOf({ decisions: [decision({ subjectName })] });
      for (const cell of csv.split(/[;\r\n]/)) expect(cell).not.toMatch(/^[\s"]*[=+\-@\uff1d]/);
    },
  );
});

const NAME_LENGTH = 100_000;

async function reportOf(name: string, format: 'text' | 'md' | 'json'): Promise<string> {
  const store = openStore();
  const effect = { text: 'ban', devices: [{ id: 'device-2', name, platform: 'macOS', model: 'Mac14,2' }] };
  const run = await addRun(store, {
    decisions: [
      decision({ subjectName: name, effect, facts: { DeviceFriendlyName: name } }),
      decision({ id: 'd2', subjectName: name, decision: 'skip', reason: 'exempt', reasonText: 'exempt' }),
    ],
    intents: [intent()],
  });
  let text = '';
  for await (const chunk of views.report(store, run, format)) text += chunk;
  return text;
}

describe('a device name of 100,000 characters', () => {
  const words = 'Ana laptop '.repeat(NAME_LENGTH / 11);
  const oneWord = 'A'.repeat(NAME_LENGTH);

  it.each([
    ['of one word', oneWord],
    ['of words', words],
    ['of wide letters', '雪'.repeat(NAME_LENGTH)],
    ['of one letter with marks', `a${'\u0301'.repeat(NAME_LENGTH)}`],
  ])('is clipped where people read it: %s', async (_, name) => {
    for (const format of ['text', 'md'] as const) {
      const text = await reportOf(name, format);
      expect(text.length).toBeLessThan(20_000);
      expect(text).toContain('…');
      expect(text.replaceAll(/\s/g, '')).not.toContain(name.slice(0, 121).replaceAll(/\s/g, ''));
    }
  });

  it('is whole in JSON', async () => {
    expect(JSON.parse(await reportOf(words, 'json')).decisions[0].subject.name).toBe(words);
  });
});
