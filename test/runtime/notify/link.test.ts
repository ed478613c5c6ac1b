// test: messages link to the page of the plan or the subject that they are about.
import { describe, expect, it } from 'vitest';
import type { Notification } from '../../../src/domain/notification.ts';
import { bodyOf, linkOf } from '../../../src/runtime/notify/delivery.ts';

const match = (kind: string | null, subject: string) => ({ rule: 'r', kind, subject, facts: {} });

describe('the link of a message', () => {
  it.each<[string, Notification['about'], string | undefined]>([
    ['about a plan is its page', { plan: '01ab', intents: 3 }, 'https://tw.example/plans/01ab'],
    ['about a subject is its page', { subject: { kind: 'device', id: 'd1' } }, 'https://tw.example/subjects/device/d1'],
    [
      'of a rule is the page of what matched',
      { matches: [match('user', 'a@b.c')] },
      'https://tw.example/subjects/user/a%40b.c',
    ],
    [
      'about two rules and one subject is that one',
      { matches: [match('device', 'd1'), match('device', 'd1')] },
      'https://tw.example/subjects/device/d1',
    ],
    ['about several subjects is left out', { matches: [match('device', 'd1'), match('device', 'd2')] }, undefined],
    ['about an unknown kind is left out', { matches: [match(null, 'd1')] }, undefined],
    ['about neither is left out', { source: 'devices', subject: null }, undefined],
    [
      'keeps a hostile id in one segment',
      { subject: { kind: 'device', id: '../../x?y#z' } },
      'https://tw.example/subjects/device/..%2F..%2Fx%3Fy%23z',
    ],
  ])('%s', (_, about, expected) => {
    expect(linkOf({ about }, 'https://tw.example')).toBe(expected);
  });

  it('is a member of the body, and absent without a public address', () => {
    const message: Notification = { id: 'n1', to: 'ops', kind: 'alert', at: 0, text: 't', about: {} };
    expect(JSON.parse(bodyOf({ ...message, link: 'https://tw.example/plans/1' })).link).toBe(
      'https://tw.example/plans/1',
    );
    expect(JSON.parse(bodyOf(message))).not.toHaveProperty('link');
  });
});
