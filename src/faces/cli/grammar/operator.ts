// cli: the operator commands, and the lists that they need.
import { DATABASE, ENGINE, limit, lines, operation, output, PAGED, type Row } from './row.ts';

const ACTING = [...ENGINE, ...output('text, json')];
const READING = [...DATABASE, ...lines('text, json')];

export const ROWS: readonly Row[] = [
  operation('listInbox', READING, async () => (await import('../operator-lists.ts')).inboxCommand),
  {
    line: 'exempt',
    summary: 'what rules leave alone for a time',
    examples: ['# what is left alone now', 'trustward exempt list'],
  },
  operation('addExemption', ACTING, async () => (await import('../operator.ts')).exemptAddCommand),
  {
    line: 'exempt list',
    summary: 'exemptions in force',
    options: [...READING, ...PAGED, { flag: '--all', text: 'include ended ones' }],
    examples: ['# also those that have ended', 'trustward exempt list --all'],
    load: async () => (await import('../operator-lists.ts')).exemptListCommand,
  },
  operation('endExemption', ACTING, async () => (await import('../operator.ts')).exemptEndCommand),
  operation('confirmExemption', ACTING, async () => (await import('../operator.ts')).exemptConfirmCommand),
  {
    line: 'requests',
    summary: 'exemptions that persons ask for',
    examples: ['# what waits for an answer', 'trustward requests list'],
  },
  {
    line: 'requests list',
    summary: 'requests that wait for an answer',
    options: [...READING, ...PAGED, { flag: '--all', text: 'include answered ones' }],
    examples: ['# also those that were answered, or expired', 'trustward requests list --all'],
    load: async () => (await import('../operator-lists.ts')).requestListCommand,
  },
  operation('grantRequest', ACTING, async () => (await import('../operator.ts')).requestGrantCommand),
  operation('refuseRequest', ACTING, async () => (await import('../operator.ts')).requestRefuseCommand),
  operation('stop', ACTING, async () => (await import('../operator.ts')).stopCommand),
  operation('resume', ACTING, async () => (await import('../operator.ts')).resumeCommand),
  {
    line: 'rollout',
    summary: 'rules that begin with a share of their subjects',
    examples: [
      '# after the reversals were looked at',
      'trustward rollout resume ban-compromised-device --reason "both were drills"',
    ],
  },
  operation('resumeRollout', ACTING, async () => (await import('../operator.ts')).rolloutResumeCommand),
  operation('restartRollout', ACTING, async () => (await import('../operator.ts')).rolloutRestartCommand),
  {
    line: 'snapshot',
    summary: 'readings of the sources',
    examples: ['# the list is rightly shorter now', 'trustward snapshot accept devices --reason "Leeds closed"'],
  },
  operation('acceptSnapshot', ACTING, async () => (await import('../operator.ts')).acceptCommand),
  {
    line: 'intents',
    summary: 'actions that were planned or attempted',
    examples: ['# the newest', 'trustward intents list'],
  },
  {
    line: 'intents list',
    summary: 'all of them, newest first; `trustward inbox` has those that wait for a person',
    options: [...READING, ...PAGED, { flag: '--state <state>', text: 'only this state or outcome' }],
    examples: [
      '# the newest',
      'trustward intents list --limit 20',
      '# all that were done',
      'trustward intents list --state succeeded',
    ],
    load: async () => (await import('../operator-lists.ts')).intentListCommand,
  },
  operation('resolveIntent', ACTING, async () => (await import('../operator.ts')).intentResolveCommand),
  {
    line: 'notices',
    summary: 'whom rules warned before they act, whether it was delivered, and until when they wait',
    options: [...READING, ...PAGED],
    examples: ['# the newest', 'trustward notices --limit 20'],
    load: async () => (await import('../operator-lists.ts')).noticeListCommand,
  },
  {
    line: 'notifications',
    summary: 'notifications that were not delivered: waiting or given up',
    options: [...READING, { flag: '--all', text: 'include delivered ones' }, limit('50')],
    examples: [
      '# what has not arrived yet',
      'trustward notifications',
      '# the last ten, delivered ones included',
      'trustward notifications --all --limit 10',
    ],
    load: async () => (await import('../operator-lists.ts')).notificationListCommand,
  },
  {
    line: 'claims',
    summary: 'actions that are still in force',
    examples: ['# what Trustward did that is still so', 'trustward claims list'],
  },
  {
    line: 'claims list',
    summary: 'what Trustward did and holds in force, also of rules that are gone or off',
    options: [...READING, ...PAGED, { flag: '--all', text: 'include ended ones' }],
    examples: ['# for a script', 'trustward claims list --format json'],
    load: async () => (await import('../operator-lists.ts')).claimListCommand,
  },
  operation('checkSubject', ACTING, async () => (await import('../operator.ts')).checkCommand),
  operation('releaseClaims', ACTING, async () => (await import('../operator.ts')).claimReleaseCommand),
  {
    line: 'mine',
    summary: "links to persons' own pages",
    examples: ['# one for who has called', 'trustward mine link ana@example.com'],
  },
  operation(
    'linkPerson',
    [...DATABASE, ...output('text, json')],
    async () => (await import('../operator.ts')).mineLinkCommand,
  ),
  operation(
    'revokePersonLinks',
    [...DATABASE, ...output('text, json')],
    async () => (await import('../operator.ts')).mineRevokeCommand,
  ),
];
