// cli: `audit …` and `history …`.
import { REASON } from '../../../contract/commands.ts';
import { EVENT_SCHEMAS } from '../../../domain/live-event.ts';
import { DATABASE, lines, operation, output, type Row } from './row.ts';

const TEXT_OR_JSON = [...DATABASE, ...output('text, json')];
const LISTING = [...DATABASE, ...lines('text, json')];

export const ROWS: readonly Row[] = [
  {
    line: 'audit',
    summary: 'the hash-chained record',
    examples: [
      '# what happened last',
      'trustward audit list --limit 20',
      '# whether the record is whole',
      'trustward audit verify',
    ],
  },
  operation('listAudit', LISTING, async () => (await import('../audit-list.ts')).auditListCommand),
  {
    line: 'audit verify',
    summary: 'check that the record is whole; names the first bad entry or checkpoint',
    options: [
      ...TEXT_OR_JSON,
      { flag: '--file <export>', text: 'verify this export instead, on any machine' },
      { flag: '--public-key <file>', text: 'a copy of the public key' },
    ],
    examples: [
      '# the record of this database',
      'trustward audit verify',
      '# an export, on another machine',
      'trustward audit verify --file audit.ndjson --public-key trustward.pub',
    ],
    load: async () => (await import('../audit.ts')).auditVerifyCommand,
  },
  {
    line: 'audit export',
    summary: 'entries and checkpoints as NDJSON, for verifying elsewhere',
    options: [
      ...DATABASE,
      { flag: '--from <seq>', text: 'from this entry on (default: the first)' },
      { flag: '--follow', text: 'go on as entries are added, until the process is asked to end' },
      { flag: '--after <seq>', text: 'with --follow: go on after this entry, which you have already' },
      {
        flag: '--format <format>',
        text: `ndjson (default), or the events in a schema of others, which cannot be verified: ${EVENT_SCHEMAS.join(', ')}`,
      },
      { flag: '--out <file>', text: 'write there instead of to standard output' },
    ],
    examples: [
      '# everything',
      'trustward audit export --out audit.ndjson',
      '# each entry as it is committed, after the last one that you have',
      'trustward audit export --follow --after 4711',
      '# decisions, outcomes and requests as events of OCSF',
      'trustward audit export --format ocsf --out events.ndjson',
    ],
    load: async () => (await import('../audit.ts')).auditExportCommand,
  },
  {
    line: 'evidence <what>',
    summary: 'make evidence of a plan, an action or a subject, as one file that an auditor verifies offline',
    options: [
      ...DATABASE,
      {
        flag: '--out <file>',
        text: 'where to write it: `.json`, or `.html` for people, with the same inside',
        isRequired: true,
      },
    ],
    examples: [
      '# of one action, by its id in `trustward intents list`',
      'trustward evidence 01kb3n2v7m8q9r5s6t4w0x1y2z --out ban.html',
      '# of all that was decided about a device',
      'trustward evidence C02MQHAHEA --out C02MQHAHEA.json',
    ],
    load: async () => (await import('../evidence.ts')).evidenceCommand,
  },
  {
    line: 'verify-evidence <file>',
    summary: 'say whether evidence is whole and what was decided follows, or what is wrong; offline',
    options: [
      { flag: '--key <file>', text: 'a copy of the public key that you trust; without it the key in the file' },
    ],
    examples: ['# with a copy of the key', 'trustward verify-evidence ban.html --key trustward.pub'],
    load: async () => (await import('../evidence.ts')).verifyEvidenceCommand,
  },
  {
    line: 'audit archive',
    summary: 'move the oldest entries to a verified file beside the database',
    options: [
      ...DATABASE,
      { flag: '--before <seq|date>', text: 'entries before this one, or before this date (UTC)', isRequired: true },
      REASON,
    ],
    examples: ['# entries of earlier years', 'trustward audit archive --before 2026-01-01 --reason "yearly archive"'],
    load: async () => (await import('../audit.ts')).auditArchiveCommand,
  },
  {
    line: 'audit accept-tables',
    summary: 'continue with tables that somebody changed beside the engine',
    options: [...DATABASE, REASON],
    examples: [
      '# after `trustward audit verify` has named what was changed',
      'trustward audit accept-tables --reason "a row was corrected by hand, ticket 4711"',
    ],
    load: async () => (await import('../audit.ts')).acceptTablesCommand,
  },
  {
    line: 'audit accept-restore',
    summary: 'continue with a database that is older than its checkpoints outside',
    options: [...DATABASE, REASON],
    examples: ['# after a backup was put in place', 'trustward audit accept-restore --reason "disk replaced"'],
    load: async () => (await import('../audit.ts')).acceptRestoreCommand,
  },
  {
    line: 'audit new-key',
    summary: 'sign checkpoints with a new key from now on',
    options: [...DATABASE, REASON],
    examples: [
      '# after the key was lost, or may be known to others',
      'trustward audit new-key --reason "key rotation"',
    ],
    load: async () => (await import('../audit.ts')).newKeyCommand,
  },
  {
    line: 'history',
    summary: 'what runs saw: the recorded history beside the database',
    examples: ['# whether every file of it is whole', 'trustward history verify'],
  },
  {
    line: 'history list',
    summary: 'recorded days, with their runs and sizes',
    options: LISTING,
    examples: ['# how much is recorded', 'trustward history list'],
    load: async () => (await import('../history.ts')).historyListCommand,
  },
  {
    line: 'history verify',
    summary: 'check every file; names each that is damaged, foreign or missing',
    options: TEXT_OR_JSON,
    examples: ['# exit code 1 when something is lost', 'trustward history verify'],
    load: async () => (await import('../history.ts')).historyVerifyCommand,
  },
  {
    line: 'history forget <subject>',
    summary: 'remove the records of one user, device or service from every file; without a daemon',
    options: [...TEXT_OR_JSON, REASON],
    examples: [
      '# a person who asked for it, by e-mail address',
      'trustward history forget ada@example.com --reason "request of 2 June"',
    ],
    load: async () => (await import('../history.ts')).historyForgetCommand,
  },
];
