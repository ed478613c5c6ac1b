// contract: the words of operations on the command line, by the id of their entry. INVARIANT: it loads nothing but words: the help is printed
// without the schemas.
import { INBOX_STATES } from '../domain/operator.ts';
import type { OperationId } from './table.ts';

/** An option of a command. `flag` as its help shows it: `--owner <who>`. */
export interface OptionWords {
  flag: string;
  text: string;
  /** The member of the input that it gives, if it is called otherwise. */
  gives?: string;
  isRequired?: true;
  byDefault?: string;
  choices?: readonly string[];
}

/** The words of an operation on the command line. */
export interface CommandWords {
  /** Its path of names and its arguments: `exempt end <id>`. */
  line: string;
  summary: string;
  options?: readonly OptionWords[];
  /** Ways to say what it is about, of which one is needed: what each needs, what tells it from the others first. */
  ways?: readonly (readonly [string, ...string[]])[];
  examples: readonly string[];
}

/** For people: why, in the words of all commands. */
export const REASON: OptionWords = { flag: '--reason <text>', text: 'why, for the audit', isRequired: true };
const REFERENCE: OptionWords = { flag: '--reference <text>', text: 'a ticket or change number, for the audit' };

const OPTIONAL_REASON: OptionWords = { flag: '--reason <text>', text: 'why, for the audit' };
const SAY: OptionWords = { flag: '--say <sentence>', text: 'what the person reads', isRequired: true };
const READ: OptionWords = {
  flag: '--digest <digits>',
  text: 'the digest of the plan that you read: only what still is so is answered',
};
const GLASS: OptionWords = {
  flag: '--break-glass',
  text: 'let this plan through the change windows, and alone where more people are asked; needs --reason, and scope admin with a daemon',
};

const WORDS = {
  listInbox: {
    line: 'inbox',
    summary: 'what waits for a person: plans, requests, and actions in doubt, parked, failed or refused',
    options: [
      { flag: '--state <state>', text: 'only this one', choices: INBOX_STATES },
      { flag: '--limit <n>', text: 'at most this many', byDefault: '50' },
      { flag: '--before <position>', text: 'the next page: the value of `next` on the page before' },
    ],
    examples: [
      '# what to answer now',
      'trustward inbox',
      '# only what Trustward gave up trying',
      'trustward inbox --state parked',
    ],
  },
  approvePlan: {
    line: 'approve <plan>',
    summary: 'approve a plan, by its id or the beginning of the id',
    options: [
      OPTIONAL_REASON,
      REFERENCE,
      { flag: '--rule <id...>', text: 'only actions whose every rule is named', gives: 'rules' },
      { flag: '--only <target...>', text: 'only these targets, subjects or owners' },
      { flag: '--except <target...>', text: 'not these targets, subjects or owners' },
      READ,
      { flag: '--yes', text: 'do not ask at a terminal' },
      GLASS,
    ],
    examples: [
      '# all of it',
      'trustward approve 01kb3n2v --reason "change 4711"',
      '# the bans of one rule, but not this laptop; the rest waits on',
      'trustward approve 01kb3n2v --rule ban-compromised-device --except C02MQHAHEA',
    ],
  },
  rejectPlan: {
    line: 'reject <plan>',
    summary: 'reject a plan, by its id or the beginning of the id',
    options: [OPTIONAL_REASON, REFERENCE, READ],
    examples: ['# reject the plan that a report names', 'trustward reject 01kb3n2v --reason "a drill"'],
  },
  applyPlan: {
    line: 'apply <plan>',
    summary: 'apply an approved plan: exactly it, or a part of it',
    options: [GLASS, { flag: '--reason <text>', text: 'why it may not wait, with --break-glass' }, REFERENCE],
    examples: [
      '# apply an approved plan, or continue an interrupted one',
      'trustward apply 01kb3n2v',
      '# in a change window',
      'trustward apply 01kb3n2v --break-glass --reason "outbreak, incident 4711"',
    ],
  },
  addExemption: {
    line: 'exempt add [kind] [name]',
    summary: 'leave one subject, or every subject of a selector, alone',
    ways: [['<name>'], ['--selector <field=value>']],
    options: [
      REASON,
      REFERENCE,
      {
        flag: '--selector <field=value>',
        text: 'instead of a name, such as SerialNumber=C02… or Groups=Staff',
      },
      { flag: '--owner <who>', text: 'who is responsible for it', isRequired: true },
      { flag: '--until <when>', text: 'a duration such as 30d, or a date (UTC)', isRequired: true },
      { flag: '--unseen', text: 'accept a name that no trusted reading has shown yet' },
      { flag: '--release', text: 'also undo what is in force on it' },
      {
        flag: '--accept-forgeable',
        text: 'accept a selector of what devices report themselves: their name, platform or model',
      },
    ],
    examples: [
      '# one device, by its serial number',
      'trustward exempt add C02MQHAHEA --owner "Ana Ruiz" --reason "on a ship until May" --until 30d',
      '# every device of a group of people',
      'trustward exempt add --selector Groups=Board --owner CISO --reason travel --until 2027-01-31',
    ],
  },
  endExemption: {
    line: 'exempt end <id>',
    summary: 'end an exemption early',
    options: [REASON],
    examples: [
      '# by the beginning of the id in `trustward exempt list`',
      'trustward exempt end 01m7ysaj --reason "back in the office"',
    ],
  },
  confirmExemption: {
    line: 'exempt confirm <id>',
    summary: 'let an exemption cover what joined it later',
    options: [REASON, { flag: '--subject <id>', text: 'only one of those waiting, by its id or serial number' }],
    examples: [
      '# the new laptop of an exempt person',
      'trustward exempt confirm 01m7ysaj --subject C02NEW --reason "Ana got it today"',
    ],
  },
  grantRequest: {
    line: 'requests grant <id>',
    summary: 'grant the exemption that a person asks for, by the id of the request or its beginning',
    options: [
      SAY,
      { flag: '--until <when>', text: 'a duration such as 7d, or a date (UTC); by default as long as was asked for' },
      OPTIONAL_REASON,
      REFERENCE,
    ],
    examples: [
      '# as it was asked for',
      'trustward requests grant 01m7ysaj --say "Fine: bring it in when you are back."',
      '# for a shorter time',
      'trustward requests grant 01m7ysaj --until 2d --say "Two days, so that you can update it."',
    ],
  },
  refuseRequest: {
    line: 'requests refuse <id>',
    summary: 'refuse it',
    options: [SAY, OPTIONAL_REASON, REFERENCE],
    examples: [
      '# the person reads the sentence',
      'trustward requests refuse 01m7ysaj --say "Please update it first: the page shows how."',
    ],
  },
  stop: {
    line: 'stop',
    summary: 'stop all actions now',
    options: [REASON, REFERENCE],
    examples: ['# at once, also while a daemon runs', 'trustward stop --reason "too many devices are banned"'],
  },
  resume: {
    line: 'resume',
    summary: 'act again after a stop',
    options: [REASON, REFERENCE],
    examples: ['# after a dry run has shown what comes', 'trustward resume --reason "the rule is corrected"'],
  },
  resumeRollout: {
    line: 'rollout resume <rule>',
    summary: 'let a rule go on that was stopped by what people reversed or exempted',
    options: [REASON, REFERENCE],
    examples: [
      '# you looked, and the rule is right',
      'trustward rollout resume ban-compromised-device --reason "both were drills"',
    ],
  },
  restartRollout: {
    line: 'rollout restart <rule>',
    summary: 'begin the rollout of a rule anew, with its first step',
    options: [REASON, REFERENCE],
    examples: [
      '# also when it is not stopped',
      'trustward rollout restart ban-compromised-device --reason "its data source has changed"',
    ],
  },
  acceptSnapshot: {
    line: 'snapshot accept <source>',
    summary: 'accept an untrusted reading as the new baseline (devices, …)',
    options: [REASON],
    examples: ['# the list is rightly shorter now', 'trustward snapshot accept devices --reason "Leeds closed"'],
  },
  resolveIntent: {
    line: 'intents resolve <id>',
    summary:
      'settle an action in doubt, parked or failed, by its id or the beginning of it: it was done, try once more, or give it up',
    options: [
      REASON,
      {
        flag: '--as <done|not-done|retry>',
        text: 'what it did, or retry; not-done gives up what failed',
        isRequired: true,
      },
    ],
    examples: [
      '# you looked, and it was done',
      'trustward intents resolve 01m7ysaj --as done --reason "seen banned in the console"',
      '# it was refused, and the next run may try again at once',
      'trustward intents resolve 01m7ysaj --as retry --reason "the key may write now"',
    ],
  },
  checkSubject: {
    line: 'check <what>',
    summary: 'read one subject now, and end and undo what it mended; it begins nothing',
    examples: ['# the owner says that it is mended', 'trustward check C02MQHAHEA'],
  },
  releaseClaims: {
    line: 'claims release [target]',
    summary: 'undo now what is in force on a target, or plan the undo of a rule',
    ways: [['<target>', '--reason <text>'], ['--rule <id>']],
    options: [
      { flag: '--rule <id>', text: 'instead of a target: a plan that undoes all that this rule has in force' },
      { flag: '--reason <text>', text: 'why, for the audit; required with a target' },
      REFERENCE,
    ],
    examples: [
      '# unban the device of a serial number',
      'trustward claims release C02MQHAHEA --reason "replaced by a new laptop"',
      '# plan the undo of all that a rule has in force',
      'trustward claims release --rule ban-compromised-device --reason "a wrong rule"',
    ],
  },
  linkPerson: {
    line: 'mine link <person>',
    summary: "make a link to a person's own page, for the service desk to send",
    examples: ['# by the e-mail address of an owner', 'trustward mine link ana@example.com'],
  },
  revokePersonLinks: {
    line: 'mine revoke <person>',
    summary: 'refuse every link of this person, or of `everybody`, that was made until now',
    options: [REASON],
    examples: [
      '# a message went to the wrong place',
      'trustward mine revoke ana@example.com --reason "forwarded"',
      '# somebody has a copy of the database: links get another secret',
      'trustward mine revoke everybody --reason "a backup was stolen"',
    ],
  },
  addToken: {
    line: 'tokens add <name>',
    summary: 'make a token and print it to standard output, once',
    options: [
      {
        flag: '--scope <scope>',
        text: 'read, trigger, approve or admin; each includes those before it',
        isRequired: true,
      },
      { flag: '--expires <when>', text: 'a duration such as 90d, or a date (UTC); by default valid until revoked' },
    ],
    examples: [
      '# a dashboard that reads',
      'trustward tokens add dashboard --scope read --expires 90d',
      '# into a file, which only its owner reads',
      'trustward tokens add ci --scope trigger --out ci.token',
    ],
  },
  revokeToken: {
    line: 'tokens revoke <name>',
    summary: 'revoke a token; its next request is refused',
    examples: ['# a token that is no longer needed', 'trustward tokens revoke dashboard'],
  },
  listAudit: {
    line: 'audit list',
    summary: 'entries, newest first',
    options: [
      { flag: '--kind <kind>', text: 'only this kind, such as intent.sent' },
      { flag: '--target <target>', text: 'only entries about this device or service, by any of its names' },
      { flag: '--actor <name>', text: 'only what this person or token did' },
      { flag: '--reference <text>', text: 'only what was done under this ticket or change number' },
      { flag: '--since <when>', text: 'a duration back from now such as 12h, or a date (UTC)' },
      { flag: '--limit <n>', text: 'at most this many', byDefault: '50' },
    ],
    examples: ['# every call that was sent, newest first', 'trustward audit list --kind intent.sent'],
  },
} as const satisfies { readonly [id in OperationId]?: CommandWords };

/** Of an operation without a command of its own: undefined. */
export const COMMANDS: { readonly [id in OperationId]?: CommandWords } = WORDS;
export type CommandId = keyof typeof WORDS;
