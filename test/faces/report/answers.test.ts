// report: what `why` answers crosses a process as JSON, and comes back as it was.
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { type explained, why } from '../../../src/contract/answers.ts';
import type { Exemption } from '../../../src/domain/exemption.ts';
import type { ExplainedSubject, WhyAnswer } from '../../../src/domain/why.ts';
import { whyJson } from '../../../src/faces/report/answers.ts';

const whyOfJson = (text: string) => z.decode(why, JSON.parse(text)) as unknown as WhyAnswer;

const AT = Date.UTC(2026, 10, 23, 9, 30);
const ANSWER: WhyAnswer = {
  subject: {
    ...{ kind: 'device', id: 'd1', serial: 'S-1', name: 'atMs', platform: 'macOS', model: '', owners: undefined },
    ...{ firstAt: AT - 1_000, changedAt: AT, goneAt: undefined },
  },
  devices: [],
  at: AT,
  unread: undefined,
  // Its names and values are the device's own: nothing in them is taken for a time of ours.
  record: { at: AT, firstAt: 5, LastLogin: 1_700_000_000n },
  states: [],
  claims: [],
  waiting: [],
  unfinished: [],
  exemption: undefined,
  stop: { at: AT, by: 'ada', reason: 'why not' },
  rules: [],
  history: [
    {
      at: AT,
      kind: 'call',
      text: 'x',
      action: undefined,
      target: undefined,
      rules: [],
      run: 1,
      by: undefined,
      id: 'i',
    },
  ],
  next: [],
  commands: [],
} as unknown as WhyAnswer;

const EXEMPTION: Exemption = {
  ...{
    id: 'e1',
    subject: undefined,
    selector: { kind: 'device', field: 'Platform', value: 'Linux' },
    owner: 'ada',
    reason: 'kiosks',
  },
  ...{ expiresAt: AT + 1_000, createdAt: AT, createdBy: 'ada', acceptForgeable: true, members: 'prints' },
  ...{ endedAt: undefined, endedBy: undefined, endedReason: undefined, usedAt: AT, warnedAt: undefined },
};

type Less = [0, 0, 1, 2, 3];
/** The places of what `Domain` has and `Json` has not, so many levels deep. */
type Lost<Domain, Json, Path extends string, Levels extends number> = Levels extends 0
  ? never
  : Domain extends readonly (infer Element)[]
    ? Lost<Element, Json extends readonly (infer Other)[] ? Other : never, `${Path}[]`, Levels>
    : Domain extends object
      ? string extends keyof Domain
        ? never
        : {
            [Key in keyof Domain & string]-?: Key extends KeysOf<Json>
              ? Lost<NonNullable<Domain[Key]>, At<Json, Key>, `${Path}.${Key}`, Less[Levels]>
              : `${Path}.${Key}`;
          }[keyof Domain & string]
      : never;
type KeysOf<T> = T extends unknown ? keyof T : never;
type At<T, Key> = T extends unknown ? (Key extends keyof T ? NonNullable<T[Key]> : never) : never;

it('every field of an answer has a place in its JSON, but for whom an exemption covers', () => {
  expectTypeOf<Lost<Omit<WhyAnswer, 'record'>, z.output<typeof why>, '', 3>>().toEqualTypeOf<
    '.exemption.members' | '.joined.members'
  >();
  expectTypeOf<Lost<ExplainedSubject, z.output<typeof explained>, '', 3>>().toEqualTypeOf<never>();
});

describe('the JSON of an answer to why', () => {
  it('about an exempt subject has the exemption, and never the prints of whom it covers', () => {
    const json = JSON.stringify(whyJson({ ...ANSWER, exemption: EXEMPTION }));
    expect(json).not.toContain('prints');
    const { members: _, ...shown } = EXEMPTION;
    expect(whyOfJson(json).exemption).toEqual(JSON.parse(JSON.stringify(shown)));
  });

  const json = JSON.stringify(whyJson(ANSWER));

  it('has ISO times where the answer has times, and leaves the record as the device sent it', () => {
    expect(JSON.parse(json)).toMatchObject({
      at: '2026-11-23T09:30:00.000Z',
      subject: { firstAt: '2026-11-23T09:29:59.000Z' },
      stop: { at: '2026-11-23T09:30:00.000Z' },
      record: { at: AT, firstAt: 5, LastLogin: '1700000000' },
    });
  });

  it('is read back with its times', () => {
    expect(whyOfJson(json)).toMatchObject({ at: AT, stop: { at: AT }, history: [{ at: AT }] });
  });
});
