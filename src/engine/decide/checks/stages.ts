// decide: which checks a stage asks, in its order, and why it leaves the others out. INVARIANT: the lists decide, and nothing else:
// the first check that refuses is the reason; only in deciding, a hold that an approval can lift gives way to an `unlifted` check.
// The order is that in which people read the answers (docs/checks.md). This file generates docs/checks.md.
import type { CheckName, Stage } from '../../../domain/check.ts';

/** `fleet`: asked only of actions that change the fleet. A notification has no target that could be in doubt. */
export interface Asked {
  check: CheckName;
  of: 'all' | 'fleet';
}

const ofAll = <const Names extends readonly CheckName[]>(...checks: Names) =>
  checks.map((check) => ({ check, of: 'all' as const })) as { check: Names[number]; of: 'all' }[];
const ofFleet = <const Names extends readonly CheckName[]>(...checks: Names) =>
  checks.map((check) => ({ check, of: 'fleet' as const })) as { check: Names[number]; of: 'fleet' }[];

export const LISTS = {
  deciding: [
    ...ofAll('untrusted-source', 'older-report', 'exempt', 'already-so', 'in-doubt', 'just-done', 'rejected'),
    ...ofAll('overridden'),
    ...ofAll('already-acted', 'for-not-reached', 'cooldown', 'outside-window', 'outside-rollout', 'refused-lately'),
    ...ofFleet('impossible-target', 'serial-shared', 'joined-later', 'guarded', 'whole-undo'),
    ...ofFleet('conflict', 'other-first', 'last-device', 'devices-of-a-day'),
    ...ofAll('limits', 'owners', 'approval-needed'),
    ...ofFleet('ceiling'),
    ...ofAll('stopped'),
    ...ofFleet('frozen'),
    ...ofAll('undone-anyway'),
    ...ofFleet('notice-due'),
  ],
  preflight: [
    ...ofAll('stopping', 'breaker', 'stopped'),
    ...ofFleet('frozen'),
    ...ofAll(
      'exempt',
      'exemption-unread',
      'rule-off',
      'rule-changed',
      'outside-window',
      'outside-rollout',
      'already-so',
    ),
    ...ofFleet('in-doubt', 'target-gone', 'impossible-target', 'overridden', 'just-done', 'conflict'),
    ...ofAll('approvers'),
    ...ofFleet('nothing-to-undo', 'joined-later', 'guarded', 'last-device', 'devices-of-a-day', 'newcomers'),
    ...ofFleet('changed-since', 'not-proposed', 'notice-due', 'ceiling'),
  ],
  applying: [
    ...ofAll('stopped'),
    ...ofFleet('frozen'),
    ...ofAll('rule-off', 'rule-changed', 'outside-window', 'untrusted-source', 'over', 'overridden', 'rejected'),
    ...ofAll('in-doubt'),
    ...ofAll('already-acted', 'impossible-target', 'conflict', 'other-first'),
    ...ofFleet('notice-due'),
  ],
  releasing: ofAll('stopped', 'in-doubt', 'just-done', 'target-gone', 'already-so'),
  retrying: [
    ...ofAll('stopping', 'already-so', 'not-judged'),
    ...ofFleet('unreadable', 'target-gone', 'one-retry'),
    ...ofAll('rule-off', 'outside-window', 'outside-rollout'),
    ...ofFleet(
      'overridden',
      'over',
      'in-doubt',
      'conflict',
      'nothing-to-undo',
      'exempt',
      'exemption-unread',
      'approvers',
      'joined-later',
      'guarded',
      'last-device',
      'devices-of-a-day',
      'newcomers',
    ),
    ...ofFleet('impossible-target', 'not-proposed', 'notice-due', 'breaker', 'stopped', 'frozen', 'ceiling'),
  ],
} satisfies { [stage in Stage]: readonly Asked[] };

const PARTS = 'an undo that leaves an open claim on its target is refused (`conflict`)';
const OF_A_DOUBT = 'it is about an intent that was already sent';

/** By stage and reason: the checks that it leaves out. */
export const GAPS = {
  deciding: {
    'it begins nothing: preflight asks before each call': ['stopping', 'breaker', 'approvers'],
    'exemptions and owners are part of its input': ['exemption-unread'],
    'the rules are those of this run': ['rule-off', 'rule-changed', 'not-judged'],
    'it reads lists, not a single target': ['unreadable', 'target-gone', 'newcomers', 'changed-since'],
    'only what matches now is proposed, and only what is claimed is undone': [
      'over',
      'not-proposed',
      'nothing-to-undo',
    ],
    [OF_A_DOUBT]: ['one-retry'],
  },
  preflight: {
    [PARTS]: ['whole-undo'],
    'an undo begins when deciding has seen a newer report': ['older-report'],
    'the run that decided it asked, or a person approved it': [
      'not-judged',
      'rejected',
      'for-not-reached',
      'cooldown',
      'refused-lately',
    ],
    'the target itself was just read, so lists do not count': ['untrusted-source'],
    'an unreadable target is acted on, and only the answer of the call shows the outcome': ['unreadable'],
    'deciding and applying ask, and the store refuses a second intent': ['already-acted'],
    'the verdict on the record just read is asked instead (`not-proposed`)': ['over'],
    'it needs all proposals of a run: deciding and applying ask': ['other-first', 'undone-anyway'],
    'deciding held it for an approval, which answers it': ['serial-shared', 'limits', 'owners', 'approval-needed'],
    [OF_A_DOUBT]: ['one-retry'],
  },
  applying: {
    [PARTS]: ['whole-undo'],
    'an undo begins when deciding has seen a newer report': ['older-report'],
    'preflight asks before the call': [
      'stopping',
      'breaker',
      'approvers',
      'outside-rollout',
      'exempt',
      'exemption-unread',
      'joined-later',
      'already-so',
      'target-gone',
      'newcomers',
      'ceiling',
    ],
    'preflight asks, with what is read and claimed then': ['changed-since', 'nothing-to-undo', 'just-done'],
    'a plan covers all rules, and each is checked in its current form': ['not-judged'],
    'the approval answers it': [
      'guarded',
      'last-device',
      'devices-of-a-day',
      'serial-shared',
      'limits',
      'owners',
      'approval-needed',
      'for-not-reached',
      'cooldown',
      'refused-lately',
    ],
    'a person approved it on the facts of that time': ['not-proposed'],
    'the first of two equal intents is enough': ['undone-anyway'],
    [OF_A_DOUBT]: ['one-retry', 'unreadable'],
  },
  releasing: {
    [PARTS]: ['whole-undo'],
    'preflight asks before the undo is sent': [
      'stopping',
      'breaker',
      'approvers',
      'impossible-target',
      'conflict',
      'newcomers',
      'ceiling',
    ],
    'a person releases the target, independent of the rules': [
      'rule-off',
      'rule-changed',
      'outside-window',
      'outside-rollout',
      'not-judged',
      'over',
      'not-proposed',
    ],
    'it is based on no list and no facts of a match': ['untrusted-source', 'older-report', 'changed-since'],
    'a change window holds no undo': ['frozen'],
    'nobody is warned of an undo': ['notice-due'],
    'an undo is never exempt, and nobody reverses one': ['exempt', 'exemption-unread', 'joined-later', 'overridden'],
    'guards ask about no undo': ['guarded', 'last-device', 'devices-of-a-day'],
    "a person's release does not depend on earlier answers": [
      'rejected',
      'already-acted',
      'cooldown',
      'refused-lately',
      'for-not-reached',
    ],
    'a release begins with open claims: without one there is nothing to release': ['nothing-to-undo'],
    'the undo is sent anyway, and only the answer of the call shows the outcome': ['unreadable'],
    'a person asks for this one target': [
      'serial-shared',
      'limits',
      'owners',
      'approval-needed',
      'other-first',
      'undone-anyway',
    ],
    [OF_A_DOUBT]: ['one-retry'],
  },
  retrying: {
    [PARTS]: ['whole-undo'],
    'an undo begins when deciding has seen a newer report': ['older-report'],
    'the current verdict on the record just read is asked instead (`not-proposed`)': ['rule-changed', 'changed-since'],
    'a run that cannot trust a source leaves the doubt alone (`not-judged`)': ['untrusted-source'],
    'a doubt is read back only after the quiet period': ['just-done'],
    'it was answered before the first call': [
      'rejected',
      'already-acted',
      'for-not-reached',
      'cooldown',
      'refused-lately',
      'approval-needed',
    ],
    'it was asked before the first call, and later additions are refused (`newcomers`)': [
      'serial-shared',
      'limits',
      'owners',
    ],
    'it needs all proposals of a run': ['other-first', 'undone-anyway'],
  },
} as const satisfies { [stage in Stage]: { [reason: string]: readonly CheckName[] } };

type Listed<S extends Stage> = (typeof LISTS)[S][number]['check'];
type Explained<S extends Stage> = { [R in keyof (typeof GAPS)[S]]: (typeof GAPS)[S][R] }[keyof (typeof GAPS)[S]];
type Names<Lists> = Lists extends readonly (infer Name)[] ? Name : never;
type Unexplained = { [S in Stage]: Exclude<CheckName, Listed<S> | Names<Explained<S>>> }[Stage];
type Twice = { [S in Stage]: Listed<S> & Names<Explained<S>> }[Stage];

/** INVARIANT, checked by the types: every check is either in a stage's list or has a reason why not. */
export const COMPLETE: [Unexplained, Twice] extends [never, never] ? true : { unexplained: Unexplained; twice: Twice } =
  true;
