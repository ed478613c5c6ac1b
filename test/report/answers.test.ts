// report: what `why` answers crosses a process as JSON, and comes back as it was.
import { describe, expect, it } from 'vitest';
import type { WhyAnswer } from '../../src/domain/why.ts';
import { whyJson, whyOfJson } from '../../src/report/answers.ts';

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

describe('the JSON of an answer to why', () => {
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

  it('of another form is one line that names the place', () => {
    const other = JSON.stringify({ ...JSON.parse(json), at: AT });
    expect(() => whyOfJson(other)).toThrow('another form than this version reads (`at`)');
  });
});
