// evaluate: a rule test → the record, the events, the joins and the coverage that it is judged with.
// In: what the test gives. Out: everything else is complete and fresh.

import type { TrustEvent } from '../../domain/event.ts';
import { type Fact, type Facts, isFacts, ownText } from '../../domain/facts.ts';
import type { LookBackItem } from '../../domain/look-back.ts';
import type { Coverage } from '../../domain/snapshot.ts';
import type { FactsContext } from '../judge/judging-frame.ts';
import type { LoadedRule, RuleTest, TestEvent } from '../language/loaded-rule.ts';
import { fieldAt, type ValueType } from '../record-types/field-types.ts';
import { recordType } from '../record-types/index.ts';
import { sampleRecord, sampleSpec } from '../record-types/samples.ts';
import { arrangeHistory } from './arrange-history.ts';
import { timeOf } from './given-times.ts';

export interface Arranged {
  record: Facts;
  events: TrustEvent[];
  context: FactsContext;
  /** What runs saw before; undefined for a rule that does not look back. */
  past: LookBackItem[] | undefined;
}

const PAST_MS = 400 * 86_400_000;

export function arrangeTest(rule: LoadedRule, test: RuleTest, nowMs: number): Arranged {
  const { $spec: specChanges, ...changes } = test.given;
  const sample = sampleRecord(rule.subject, nowMs);
  if (isFacts(specChanges)) sample.ServiceSpec = JSON.stringify(merged(sampleSpec(), specChanges, undefined, nowMs));
  const joined = joinedRecords(rule, test, nowMs);
  if (test.joined && rule.subject === 'device') sample.Emails = joined.map((user) => ownText(user, 'Email') ?? '');
  if (test.joined && rule.subject === 'user')
    sample.SerialNumbers = joined.map((device) => ownText(device, 'SerialNumber') ?? '');
  const record = merged(sample, changes, recordType(rule.subject), nowMs);
  return {
    record,
    past: arrangeHistory(rule, test, record, { nowMs, pastMs: PAST_MS }),
    events: test.events.flatMap((event, index) => eventsOf(event, index, rule, record, nowMs)),
    context: {
      nowMs,
      joins: {
        users: new Map(
          rule.subject === 'device' ? joined.map((user) => [(ownText(user, 'Email') ?? '').toLowerCase(), user]) : [],
        ),
        devices: bySerial(rule.subject === 'user' ? joined : []),
      },
      coverage: coverageOf(test, nowMs),
      unavailable: new Set(test.eventsUnavailable ? ['events' as const] : []),
    },
  };
}

function joinedRecords(rule: LoadedRule, test: RuleTest, nowMs: number): Facts[] {
  const kind = rule.subject === 'device' ? 'user' : 'device';
  const given = test.joined ?? [{}];
  return given.map((changes, index) => merged(sampleRecord(kind, nowMs, index + 1), changes, recordType(kind), nowMs));
}

function bySerial(devices: readonly Facts[]): Map<string, Facts[]> {
  const map = new Map<string, Facts[]>();
  for (const device of devices) {
    const serial = ownText(device, 'SerialNumber') ?? '';
    map.set(serial, [...(map.get(serial) ?? []), device]);
  }
  return map;
}

/** A merge patch: `null` removes a field, objects are merged, other values replace. `{ago: "90d"}` is a time. */
function merged(base: Facts, changes: Facts, type: ValueType | undefined, nowMs: number): Facts {
  const result: Facts = { ...base };
  for (const [key, change] of Object.entries(changes)) {
    const inner = type && fieldAt(type, [key])?.type;
    const before = Object.hasOwn(base, key) ? base[key] : undefined;
    if (change === null) delete result[key];
    else set(result, key, changed(before, change, inner, nowMs));
  }
  return result;
}

function changed(before: Fact | undefined, change: Fact, type: ValueType | undefined, nowMs: number): Fact {
  if (!isFacts(change)) return change;
  const time = timeOf(change, type, nowMs);
  if (time !== undefined) return time;
  return merged(isFacts(before) ? before : {}, change, type, nowMs);
}

function set(record: Facts, key: string, value: Fact): void {
  Object.defineProperty(record, key, { value, enumerable: true, configurable: true, writable: true });
}

function coverageOf({ gaps }: RuleTest, nowMs: number): Coverage[] {
  let known: Coverage[] = [{ fromMs: nowMs - PAST_MS, toMs: nowMs }];
  for (const { fromAgoMs, toAgoMs } of gaps) {
    const [from, to] = [nowMs - fromAgoMs, nowMs - toAgoMs];
    known = known.flatMap((part) => [
      { fromMs: part.fromMs, toMs: Math.min(part.toMs, from - 1) },
      { fromMs: Math.max(part.fromMs, to + 1), toMs: part.toMs },
    ]);
    known = known.filter((part) => part.fromMs <= part.toMs);
  }
  return known;
}

const EVENT_SAMPLE: Facts = {
  type: 'Access',
  sub_type: 'Connection',
  action: 'Authorized',
  severity: 'INFO',
  result: '',
};

function eventsOf(event: TestEvent, index: number, rule: LoadedRule, record: Facts, nowMs: number): TrustEvent[] {
  return Array.from({ length: event.times }, (_, time): TrustEvent => {
    const createdAtMs = nowMs - event.agoMs;
    const body: Facts = { id: `event-${index}-${time}`, created_at: createdAtMs, ...EVENT_SAMPLE, ...event.body };
    const text = (key: string): string => ownText(body, key) ?? '';
    return {
      id: `event-${index}-${time}`,
      createdAtMs,
      deviceId: rule.subject === 'device' ? ownText(record, 'DeviceID') : undefined,
      serialNumber: rule.subject === 'device' ? ownText(record, 'SerialNumber') : undefined,
      email: rule.subject === 'user' ? ownText(record, 'Email')?.toLowerCase() : undefined,
      serviceId: rule.subject === 'service' ? ownText(record, 'ServiceID') : undefined,
      serviceName: rule.subject === 'service' ? ownText(record, 'ServiceName') : undefined,
      type: text('type'),
      subType: text('sub_type'),
      action: text('action'),
      severity: text('severity'),
      result: text('result'),
      body,
    };
  });
}
