// test: entries of the audit as events of OCSF and CloudEvents: each is one by the facts of the published schemas, and says what happened.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonPieces } from '../../../src/base/json.ts';
import { AUDIT_KINDS, type AuditEntry, type AuditNote } from '../../../src/domain/audit-entry.ts';
import { DECISION_NAMES, OUTCOMES, REASONS } from '../../../src/domain/decision.ts';
import { EVENT_SCHEMAS, type EventSchema, type LiveEvent, liveEventsOf } from '../../../src/domain/live-event.ts';
import { ACTIONS } from '../../../src/engine/act/actions.ts';
import { DEEDS } from '../../../src/faces/report/audit-words.ts';
import { eventIn } from '../../../src/faces/report/other-schemas.ts';
import { addRun, decision, intent, openStore, START_MS } from '../../support/filled-store.ts';
import { cloudEventFaults, ocsfFaults } from '../../support/ocsf.ts';
import { hostileText } from './hostile.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a receiver parses.
type Parsed = any;

/** As a receiver has it. */
function parsed(schema: EventSchema, entry: AuditEntry, live?: LiveEvent): Parsed {
  const event = eventIn(schema, entry, live);
  return event && JSON.parse([...jsonPieces(event)].join(''));
}

function faultsOf(schema: EventSchema, event: Parsed): string[] {
  if (schema === 'ocsf') return ocsfFaults(event);
  return [...cloudEventFaults(event), ...(schema === 'cloudevents' ? [] : ocsfFaults(event.data))];
}

const ENTRY: AuditEntry = {
  ...{ seq: 7, at: START_MS, kind: 'decision.made', bytes: '{}', prev: '0'.repeat(64), hash: 'f'.repeat(64) },
};

function entryOf(kind: AuditEntry['kind'], body: object = {}): AuditEntry {
  return { ...ENTRY, kind, bytes: JSON.stringify({ at: START_MS, kind, body }) };
}

const STORED = { runId: 'run1', runSeq: 1, writtenAt: START_MS, endedSeq: undefined };

function decided(over: Parameters<typeof decision>[0] = {}): LiveEvent {
  const one = { ...decision({ mode: 'enforce', ...over }), ...STORED };
  return { event: 'decision', entry: ENTRY, rules: [one.rule], isDryRun: one.mode === 'dry-run', decision: one };
}

function came(result: string, over: Parameters<typeof intent>[0] = {}): LiveEvent & { event: 'outcome' } {
  const isDryRun = result === 'dry_run';
  const entry = entryOf(isDryRun ? 'intent.dry' : 'intent.settled', { intent: 'intent1' });
  return { event: 'outcome', entry, rules: [], isDryRun, result, note: 'a note', intent: intent(over) };
}

const MAC = {
  ...{
    id: 'device-1',
    name: 'Ana laptop',
    platform: 'macOS',
    model: 'Mac14,2',
    serial: 'C02',
    owners: ['ana@example.com'],
  },
};

describe('an event of OCSF or CloudEvents', () => {
  it('is valid for each answer, reason, kind of subject and action', () => {
    for (const schema of EVENT_SCHEMAS)
      for (const answer of DECISION_NAMES)
        for (const reason of REASONS)
          for (const kind of ['device', 'user', 'service'] as const) {
            const effect = { text: 'does it', devices: kind === 'service' ? [] : [MAC, { ...MAC, id: 'device-2' }] };
            const live = decided({ decision: answer, reason, subject: { kind, id: 'device-1' }, effect });
            expect(faultsOf(schema, parsed(schema, live.entry, live)), `${schema} ${answer} ${reason}`).toEqual([]);
          }
    for (const schema of EVENT_SCHEMAS)
      for (const action of ACTIONS.keys())
        for (const result of [...OUTCOMES, 'withdrawn']) {
          const live = came(result, { action, effect: { text: 'does it', devices: [MAC] } });
          expect(faultsOf(schema, parsed(schema, live.entry, live)), `${schema} ${action} ${result}`).toEqual([]);
        }
  });

  it('is valid for all that a store has, and names its entry, once', async () => {
    const store = openStore();
    const made = decision({ id: 'decision1', mode: 'enforce', intentId: 'intent1', outcome: undefined });
    await addRun(store, { decisions: [made, decision({ id: 'decision2' })], intents: [intent()] });
    await store.appendAudit([
      { kind: 'intent.sent', body: { intent: 'intent1', run: 'run1', action: 'ban_device', target: 'SERIAL-1' } },
      { kind: 'intent.settled', body: { intent: 'intent1', action: 'ban_device', outcome: 'succeeded', note: 'ok' } },
      { kind: 'intent.resolved', body: { intent: 'intent1', as: 'done', by: 'ana (token admin)', reason: 'seen' } },
      // Of records that were removed since.
      {
        kind: 'decision.made',
        body: { decision: 'gone', rule: 'r', answer: 'hold', reason: 'limits', action: 'ban_device', target: 'S' },
      },
      {
        kind: 'intent.withdrawn',
        body: { intent: 'gone', action: 'ban_device', target: 'S', reason: 'stopped', text: 'stopped' },
      },
      ...(AUDIT_KINDS.map((kind) => ({ kind, body: { by: 'ana (page)', target: 'S' } })) satisfies AuditNote[]),
    ]);
    const entries = await store.audit({ afterSeq: 0, limit: 1_000 });
    const live = await liveEventsOf(store, entries);
    for (const schema of EVENT_SCHEMAS) {
      const events = entries.map((entry) => [entry, parsed(schema, entry, live.get(entry.seq))] as const);
      const shown = events.filter(([, event]) => event !== undefined);
      for (const [entry, event] of shown) {
        expect(faultsOf(schema, event), `${schema} ${entry.kind}`).toEqual([]);
        expect(event.id ?? event.metadata.uid).toBe(`${entry.seq}-${entry.hash}`);
      }
      if (schema === 'cloudevents') expect(shown.length).toBe(entries.length);
      const classes = shown.map(([, event]) => (event.data ?? event).class_uid);
      if (schema !== 'cloudevents') expect([...new Set(classes)].sort()).toEqual([2004, 6003, 7001]);
    }
  });

  it('is valid, exact and one line whatever names and facts are', () => {
    fc.assert(
      fc.property(hostileText, fc.bigInt({ min: 2n ** 53n, max: 2n ** 70n }), (text, big) => {
        const device = {
          ...MAC,
          name: text,
          platform: text,
          model: text,
          serial: text,
          owners: [text, 'a@example.com'],
        };
        const live = decided({
          ...{ subjectName: text, reasonText: text, target: text, facts: { [text]: text, big } },
          effect: { text, devices: [device] },
        });
        for (const schema of EVENT_SCHEMAS) {
          const line = [...jsonPieces(eventIn(schema, live.entry, live))].join('');
          expect(line).not.toContain('\n');
          expect(line).toContain(`"big":"${big}"`);
          expect(faultsOf(schema, JSON.parse(line))).toEqual([]);
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['succeeded', 1, 'Success'],
    ['confirmed', 1, 'Success'],
    ['failed', 2, 'Failure'],
    ['unknown', 0, 'Unknown'],
    ['parked', 99, 'parked'],
    ['dry_run', 99, 'dry_run'],
    ['withdrawn', 99, 'withdrawn'],
    ['of a later version', 0, 'Unknown'],
  ])('of an outcome that %s has the status %i', (result, status_id, status) => {
    const live = came(result);
    expect(parsed('ocsf', live.entry, live)).toMatchObject({ status_id, status, command_uid: 'intent1' });
  });

  it('of a dry run says so, whatever else it says', () => {
    expect(parsed('ocsf', ENTRY, decided()).is_alert).toBe(true);
    expect(parsed('ocsf', ENTRY, decided({ mode: 'dry-run' })).is_alert).toBe(false);
    for (const live of [decided({ mode: 'dry-run' }), came('dry_run')]) {
      const event = parsed('cloudevents-ocsf', live.entry, live);
      expect(event).toMatchObject({
        dryrun: true,
        data: { metadata: { labels: ['dry_run'] }, unmapped: { dry_run: true } },
      });
      expect(event.data.status).not.toBe('Success');
    }
    const live = came('succeeded');
    const event = parsed('cloudevents-ocsf', live.entry, live);
    expect(event).toMatchObject({ dryrun: false, data: { unmapped: { dry_run: false } } });
    expect(event.data.metadata.labels).toBeUndefined();
  });

  it('of each action that calls the platform has a tactic; of a notice it has none, and is no success', () => {
    for (const [action, { changesFleet }] of ACTIONS) {
      const live = came('succeeded', { action });
      const event = parsed('ocsf', live.entry, live);
      expect(event.activity_id !== 99, action).toBe(changesFleet);
      expect(event.status, action).toBe(changesFleet ? 'Success' : 'succeeded');
    }
  });

  it('names the device, its owner and what to search for', () => {
    const live = decided({
      effect: { text: 'ban it', devices: [{ ...MAC, id: 'other' }, MAC] },
      episodeId: 'episode1',
    });
    expect(parsed('ocsf', live.entry, live)).toMatchObject({
      device: {
        ...{ uid: 'device-1', name: 'Ana laptop', os: { name: 'macOS', type_id: 300 } },
        ...{ hw_info: { serial_number: 'C02' }, owner: { email_addr: 'ana@example.com' } },
      },
      finding_info: { uid: 'decision1', analytic: { name: 'ban-compromised-device', type: 'Rule' } },
      metadata: { sequence: 7, correlation_uid: 'episode1' },
      evidences: [{ data: { 'MdmData.CompromisedStatus': 'TRUE' } }],
    });
  });

  it.each([
    ['ana (command line)', { name: 'ana' }, 'command line'],
    ['ana (token admin)', { name: 'ana' }, 'token admin'],
    [
      'ana@example.com (00u1 at https://id.example.com)',
      { name: 'ana@example.com', uid: '00u1' },
      'https://id.example.com',
    ],
    ['trustward', { name: 'trustward' }, 'Trustward'],
  ])('of what %s asked has who, and how they came', (by, user, svc_name) => {
    for (const kind of DEEDS.filter((one) => one !== 'intent.resolved')) {
      const event = parsed('ocsf', entryOf(kind, { by, reason: 'because' }));
      expect(event, kind).toMatchObject({
        class_uid: 6003,
        actor: { user },
        src_endpoint: { svc_name },
        status: 'Success',
      });
      expect(event.api).toMatchObject({ operation: kind, request: { data: { reason: 'because' } } });
    }
    expect(parsed('ocsf', entryOf('token.revoked', { by }))).toMatchObject({ activity_name: 'Delete' });
    expect(parsed('ocsf', entryOf('exemption.added', { by }))).toMatchObject({ activity_name: 'Create' });
  });

  it('of a call has its action, and does not say how it ended; what nobody asked for has none', () => {
    const call = entryOf('intent.sent', { intent: 'intent1', action: 'delete_device', target: 'SERIAL-1' });
    const api = { operation: 'delete_device', service: { name: 'Management API' }, request: { uid: 'intent1' } };
    expect(parsed('ocsf', call)).toMatchObject({ class_uid: 6003, activity_name: 'Delete', status: 'Unknown', api });
    expect(parsed('ocsf', entryOf('intent.sent', { action: 'notify', target: 'x' }))).toBeUndefined();
    expect(parsed('ocsf', entryOf('run.started', { run: 'run1', by: 'ana (page)' }))).toBeUndefined();
    expect(parsed('ocsf', entryOf('stop.lifted', { reason: 'nobody asked' }))).toBeUndefined();
  });
});

it('the events of the documentation are valid', () => {
  const page = readFileSync('docs/others-schemas.md', 'utf8');
  const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(String(text)));
  expect(examples.map((event) => (event.specversion ? cloudEventFaults(event) : ocsfFaults(event)))).toEqual([[], []]);
});

describe('the validator', () => {
  const valid = () => {
    const live = decided({ effect: { text: 'ban it', devices: [MAC] } });
    return parsed('ocsf', live.entry, live);
  };

  it.each<[string, (event: Parsed) => void, string]>([
    ['a required attribute that is missing', (event) => delete event.severity_id, 'severity_id is missing'],
    ['one within an object', (event) => delete event.metadata.product, 'metadata.product is missing'],
    ['an attribute that is none', (event) => (event.subject = 'x'), 'subject is no attribute'],
    ['one of a profile that is not named', (event) => (event.actor = { app_name: 'x' }), 'actor is no attribute'],
    ['an id without a caption', (event) => (event.status_id = 77), 'status_id is 77, which has no caption'],
    ['a caption of another id', (event) => (event.severity = 'Low'), 'severity_id is Medium, and severity is Low'],
    [
      'an id of other kinds without words',
      (event) => Object.assign(event, { status_id: 99, status: '' }),
      'status_id is 99 without status',
    ],
    ['a time as text', (event) => (event.time = '2026-11-21T09:00:00Z'), 'time is no timestamp_t'],
    ['a time in seconds', (event) => (event.time = 1_800_000_000), 'time is no timestamp_t'],
    ['a list that is none', (event) => (event.evidences = {}), 'evidences is no list'],
    [
      'an object with none of what it needs one of',
      (event) => (event.evidences = [{ name: 'x' }]),
      'evidences[0] has none of',
    ],
    [
      'an address that is none',
      (event) => (event.device.owner.email_addr = 'ana'),
      'device.owner.email_addr is no email_t',
    ],
    ['a type that is not that of its class', (event) => (event.type_uid = 200402), 'type_uid is not 200401'],
    ['another version', (event) => (event.metadata.version = '1.0.0'), 'metadata.version is not 1.7.0'],
  ])('finds %s', (_, spoil, fault) => {
    const event = valid();
    expect(ocsfFaults(event)).toEqual([]);
    spoil(event);
    expect(ocsfFaults(event).join('\n')).toContain(fault);
  });

  it.each<[string, (event: Parsed) => void, string]>([
    ['a missing id', (event) => delete event.id, 'id is missing'],
    ['a source that is no URI', (event) => (event.source = 'a b'), 'source is no URI'],
    ['another version', (event) => (event.specversion = '0.3'), 'specversion is not 1.0'],
    ['an empty subject', (event) => (event.subject = ''), 'subject is empty'],
    ['a time that is none', (event) => (event.time = 'today'), 'time is not of RFC 3339'],
    ['an extension of capital letters', (event) => (event.dryRun = true), 'dryRun is no name of an extension'],
    ['an extension that is an object', (event) => (event.dryrun = {}), 'dryrun is no simple value'],
  ])('finds %s in an envelope', (_, spoil, fault) => {
    const live = decided();
    const event = parsed('cloudevents', live.entry, live);
    expect(cloudEventFaults(event)).toEqual([]);
    spoil(event);
    expect(cloudEventFaults(event)).toContain(fault);
  });
});
