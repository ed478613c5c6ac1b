// report: what an entry of the audit says, in one plain sentence. In: entries, and the store, which knows the names. Out: a sentence each, which the
// page, the terminal and programs show. INVARIANT: every kind has one, and names people, devices, runs and plans as people know them.

import { shownName } from '../../base/text.ts';
import { spanText, timeText } from '../../base/time.ts';
import { actorText } from '../../domain/actor.ts';
import type { AuditKind } from '../../domain/audit-entry.ts';
import { LIFTED_BY_TIME, type ReasonCode } from '../../domain/decision.ts';
import { aboutText } from '../../domain/exemption.ts';
import { type Fact, type Facts, isFacts } from '../../domain/facts.ts';
import { type Identity, type IdentityReader, nameKey } from '../../domain/identity.ts';
import { notDelivered } from '../../domain/notice.ts';
import { saidText } from '../../domain/operator.ts';
import { withPasskey } from '../../domain/passkey.ts';
import { liftedText } from '../../domain/plan.ts';
import type { PageReader, RecordReader } from '../../domain/store-ports.ts';
import { actWords, asSentence, countText, listed, plural } from './fact-text.ts';
import { planTitle } from './inbox.ts';

// The names of what entries are about.

export type NamesReader = Pick<RecordReader, 'intents' | 'runNumbers' | 'exemptions'> &
  Pick<PageReader, 'countsOfPlan'> &
  Pick<IdentityReader, 'identitiesOf'>;

const ABOUT = /^(device|user|service) (.+)$/s;

/** Names as the store has them; without one, the text itself. */
export class AuditNames {
  private readonly subjects = new Map<string, Identity[]>();
  private readonly runs = new Map<string, number>();
  private readonly plans = new Map<string, string>();
  private readonly rules = new Map<string, string[]>();
  private readonly exemptions = new Map<string, string>();

  static async of(reader: NamesReader, bodies: readonly Facts[]): Promise<AuditNames> {
    const names = new AuditNames();
    const all = (...members: string[]) => [
      ...new Set(bodies.flatMap((body) => members.flatMap((name) => textIn(body, name) ?? []))),
    ];
    const unnamed = all('exemption').length > 0 ? await reader.exemptions() : [];
    for (const exemption of unnamed) names.exemptions.set(exemption.id, aboutText(exemption));
    const exempted = bodies.flatMap((body) => ABOUT.exec(names.aboutIn(body) ?? '')?.[2] ?? []);
    const texts = [...new Set([...all('target'), ...exempted, ...bodies.flatMap((body) => subjectIn(body) ?? [])])];
    for (const identity of await reader.identitiesOf(texts)) {
      for (const key of new Set([nameKey(identity.id), nameKey(identity.serial)])) {
        const known = names.subjects.get(key);
        if (known) known.push(identity);
        else names.subjects.set(key, [identity]);
      }
    }
    for (const { id, seq } of await reader.runNumbers(all('run'))) names.runs.set(id, seq);
    for (const id of all('plan')) {
      const counts = await reader.countsOfPlan(id);
      if (counts.length > 0) names.plans.set(id, planTitle(counts));
    }
    const without = bodies.filter((body) => rulesIn(body).length === 0);
    const ids = [...new Set(without.flatMap((body) => textIn(body, 'intent') ?? []))];
    for (const { id, basis } of ids.length === 0 ? [] : await reader.intents({ ids }))
      names.rules.set(id, [...new Set(basis.map(({ rule }) => rule))]);
    return names;
  }

  /** `Nadia's iPhone (F2LUKT2H92)`. */
  subject(text: string): string {
    const known = this.subjects.get(nameKey(text)) ?? [];
    const [first] = known;
    if (first === undefined) return shownName(text);
    const own = first.kind === 'device' ? first.serial || first.id : first.id;
    const name = first.name === '' || first.name === own ? undefined : shownName(first.name);
    const more = known.length > 1 ? ` and ${plural(known.length - 1, 'other device')}` : '';
    return `${name === undefined ? own : `${name} (${own})`}${more}`;
  }

  private aboutIn(body: Facts): string | undefined {
    return textIn(body, 'about') ?? this.exemptions.get(textIn(body, 'exemption') ?? '');
  }

  /** `device Nadia's iPhone (F2LUKT2H92)`; undefined: the exemption is not known. */
  exempted(body: Facts): string | undefined {
    const about = this.aboutIn(body);
    const [, kind, id] = ABOUT.exec(about ?? '') ?? [];
    return id === undefined ? about : `${kind} ${this.subject(id)}`;
  }

  run(id: string): string {
    const seq = this.runs.get(id);
    return seq === undefined ? 'a run that is no longer kept' : `run ${seq}`;
  }

  plan(id: string): string {
    const title = this.plans.get(id);
    return title === undefined ? 'a plan that is no longer kept' : `the plan “${title}”`;
  }

  /** Of an entry that names only the action that the rules proposed. */
  rulesOf(intent: string): readonly string[] {
    return this.rules.get(intent) ?? [];
  }
}

// What an entry has, as words of it need it.

function textIn(body: Facts, name: string): string | undefined {
  const value = body[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function subjectIn({ subject }: Facts): string | undefined {
  const id = isFacts(subject) ? subject.id : subject;
  return typeof id === 'string' && id !== '' ? id : undefined;
}

function rulesIn(body: Facts): string[] {
  const basis = Array.isArray(body.basis) ? body.basis.map((one) => isFacts(one) && one.rule) : [];
  const all = [body.rule, ...(Array.isArray(body.rules) ? body.rules : []), ...basis];
  return [...new Set(all.filter((rule) => typeof rule === 'string'))];
}

/** Who vouches for the rules. */
function signedWords({ signedBy }: Facts): string {
  const names = Array.isArray(signedBy) ? signedBy.map((name) => shownName(String(name))) : [];
  return names.length === 0 ? '' : `, with rules that ${listed(names)} signed`;
}

/** A reason may name a record, which has an id alone: who needs it finds it in the details. */
const OF_RECORD = / (action|plan|exemption) [0-9a-hjkmnp-tv-z]{26}(?![0-9a-z])/g;

class Told {
  constructor(
    readonly body: Facts,
    readonly names: AuditNames,
    /** All for which it was done at once; those of the entry alone where nobody gathered them. */
    readonly rules: readonly string[] = rulesIn(body),
  ) {}

  of(name: string, without = ''): string {
    return textIn(this.body, name) ?? without;
  }

  /** Whoever did it, as people know them. */
  by(without = ''): string {
    return actorText(this.of('by', without));
  }

  has(name: string): boolean {
    return this.of(name) !== '';
  }

  number(name: string): number {
    const value = this.body[name];
    return Array.isArray(value) ? value.length : Number(value ?? 0) || 0;
  }

  time(name: string): string {
    return timeText(this.number(name));
  }

  get target(): string {
    return this.names.subject(this.of('target', 'a target'));
  }

  get subject(): string {
    return this.names.subject(subjectIn(this.body) ?? this.of('target', 'a subject'));
  }

  get plan(): string {
    return this.names.plan(this.of('plan'));
  }

  get run(): string {
    return this.names.run(this.of('run'));
  }

  /** `ban Nadia's iPhone (F2LUKT2H92)`. */
  get toDo(): string {
    return actWords(this.of('action'), this.target).toDo;
  }

  /** `Nadia's iPhone (F2LUKT2H92) was banned`. */
  get wasDone(): string {
    return actWords(this.of('action'), this.target).wasDone;
  }

  /** Whom an exemption protects. */
  get about(): string {
    return this.names.exempted(this.body) ?? 'somebody';
  }

  get isCall(): boolean {
    return actWords(this.of('action'), this.target).isCall;
  }

  get ofRules(): string {
    return this.rules.length === 0 ? '' : `, of ${this.rules.length === 1 ? 'rule' : 'rules'} ${listed(this.rules)}`;
  }

  /** `: why`; empty where nothing says it. */
  because(...names: string[]): string {
    const why = names.map((name) => this.of(name)).find((text) => text !== '');
    return why === undefined ? '' : `: ${shownName(why.replaceAll(OF_RECORD, ' an earlier $1'))}`;
  }
}

// One sentence for each kind.

type Words = (told: Told) => string;

interface Sentence {
  words: Words;
  /** Of what a person did, after the name; undefined: a run did it. */
  deed?: (told: Told) => string | undefined;
}

/** What only people do. */
function deed(words: Words): Sentence {
  return { words: () => '', deed: words };
}

function touched({ body }: Told): string {
  return withPasskey(body.touch !== undefined);
}

/** What runs do, too. */
function deedOrNot(words: Words, otherwise: Words): Sentence {
  return { words: otherwise, deed: (told) => (told.has('by') ? words(told) : undefined) };
}

const SETTLED: { readonly [outcome: string]: Words } = {
  succeeded: ({ wasDone, isCall }) => `${isCall ? 'The platform accepted it' : 'Done'}: ${wasDone}`,
  confirmed: ({ wasDone }) => `Reading it back showed that ${wasDone}`,
  failed: (told) => `It failed to ${told.toDo}${told.because('note')}`,
  unknown: (told) => `It is in doubt whether ${told.wasDone}${told.because('note')}`,
  parked: (told) => `Trying to ${told.toDo} was given up, and a person has to look${told.because('note')}`,
  dry_run: ({ toDo }) => `A dry run would ${toDo}`,
};

const ANSWERS: { readonly [answer: string]: Words } = {
  act: (told) => `It was decided to ${told.toDo}${told.because('reasonText')}`,
  hold: (told) => `A person decides whether to ${told.toDo}${told.because('reasonText')}`,
  skip: (told) => {
    const waits = LIFTED_BY_TIME.has(told.of('reason') as ReasonCode);
    return `${waits ? 'It is too early to' : 'It was decided not to'} ${told.toDo}${told.because('reasonText')}`;
  },
};

const CLOSED: { readonly [reason: string]: Words } = {
  gone: ({ subject }) => `The match ended, since ${subject} is gone from the lists`,
  adopted: ({ subject }) => `A newer match took the place of this one of ${subject}`,
};

const TRIGGERS: { readonly [trigger: string]: string } = {
  schedule: 'on schedule',
  watch: 'after new events',
  http: 'as asked for over HTTP',
  command: 'as asked for on the command line',
};

const SENTENCES: Readonly<Record<AuditKind, Sentence>> = {
  'database.bound': { words: (told) => `The database was bound to the platform at ${told.of('address')}` },
  'lists.changed': {
    words: (told) => `The lists of the platform changed from ${told.of('from')} to ${told.of('to')}`,
  },
  'run.started': {
    words: (told) => {
      const how = told.has('by') ? `, asked for by ${told.by()}` : ` ${TRIGGERS[told.of('trigger')] ?? ''}`;
      return `${asSentence(told.run)} began${how}, in mode ${told.of('mode')}${signedWords(told.body)}`;
    },
  },
  'run.finished': { words: ({ run }) => `${asSentence(run)} was completed` },
  'run.aborted': { words: (told) => `${asSentence(told.run)} was aborted${told.because('error')}` },
  'runs.removed': {
    words: (told) =>
      `Old records were removed: ${plural(told.number('runs'), 'run')}, ${plural(told.number('decisions'), 'decision')}, ${plural(told.number('plans'), 'plan')}`,
  },
  'plans.dropped': {
    words: (told) => `The contents of ${plural(told.number('plans'), 'old plan')} were removed`,
  },
  'rules.loaded': { words: (told) => `The rules in ${told.of('rulesDir')} were loaded${signedWords(told.body)}` },
  'rules.rejected': {
    words: (told) => `The rules in ${told.of('rulesDir')} were refused${told.because('refused')}`,
  },
  'rules.returned': {
    words: (told) =>
      `An older set of signed rules is in force again, as in run ${told.number('seq')}${signedWords(told.body)}`,
  },
  'source.untrusted': {
    words: ({ body: { source, reasons } }) => `The reading of ${source} is not trusted${whys(source, reasons)}`,
  },
  'baseline.accepted': {
    words: (told) =>
      `The reading of ${told.of('source')} is the new baseline, as ${told.by('somebody')} accepted${told.because('reason')}`,
  },
  'episode.opened': { words: ({ subject }) => `The rule began to match ${subject}` },
  'episode.closed': {
    words: (told) =>
      (CLOSED[told.of('reason')] ?? (({ subject }: Told) => `The rule no longer matches ${subject}`))(told),
  },
  'episode.overridden': {
    words: (told) =>
      `${told.by()} released ${told.target}, which is left alone until the rule no longer matches${told.because('reason')}`,
    // A release has a line of its own.
    deed: (told) => (told.has('by') ? undefined : `undid what Trustward did: ${told.toDo}${told.ofRules}`),
  },
  'decision.made': {
    words: (told) => (ANSWERS[told.of('answer')] ?? (({ toDo }: Told) => `It was decided about: ${toDo}`))(told),
  },
  'decision.flapped': {
    words: (told) => `The rule matches ${told.target} again soon after it was undone${told.because('reasonText')}`,
  },
  'plan.sealed': { words: ({ plan }) => `${asSentence(plan)} was made, and waits for a yes` },
  'plan.carried': {
    words: (told) =>
      `${asSentence(told.plan)} was carried on: ${countText(told.number('joined'))} joined, ${countText(told.number('changed'))} changed, ${countText(told.number('left'))} left`,
  },
  'plan.agreed': deed(
    (told) =>
      `said yes to ${told.plan}${touched(told)}${told.has('missing') ? `, which needs ${told.of('missing')}` : ''}`,
  ),
  'plan.approved': deed((told) => `approved ${told.plan}${touched(told)}`),
  'plan.rejected': deed(({ plan }) => `rejected ${plan}`),
  'plan.superseded': { words: ({ plan }) => `${asSentence(plan)} was replaced by a newer one` },
  'plan.expired': {
    words: (told) => `${asSentence(told.plan)} expired without being done${told.because('why')}`,
  },
  'plan.glass_broken': deed((told) => `BROKE THE GLASS${touched(told)}: let ${told.plan} ${liftedText(told.body)}`),
  'plan.applying': deed(({ plan }) => `applied ${plan}`),
  'plan.applied': { words: ({ plan }) => `${asSentence(plan)} was done to its end` },
  'plan.interrupted': {
    words: (told) => `${asSentence(told.plan)} was interrupted before its end${told.because('error')}`,
  },
  'intent.planned': deedOrNot(
    ({ toDo }) => `released what was in force: ${toDo}`,
    (told) => `It was planned to ${told.toDo}${told.body.undo === true ? ', to undo what was done' : ''}`,
  ),
  'intent.dry': { words: ({ toDo }) => `A dry run would ${toDo}` },
  'intent.sent': {
    words: (told) =>
      `${told.isCall ? 'The platform was asked to' : 'Trustward began to'} ${told.toDo}${told.body.retry === true ? ', once more' : ''}`,
  },
  'intent.settled': {
    words: (told) =>
      (SETTLED[told.of('outcome')] ?? (({ toDo }: Told) => `It ended as ${told.of('outcome')} to ${toDo}`))(told),
  },
  'intent.withdrawn': { words: (told) => `It was not sent to ${told.toDo}${told.because('text', 'reason')}` },
  'claim.opened': { words: ({ wasDone }) => `In force from now on: ${wasDone}` },
  'claim.ended': { words: ({ wasDone }) => `No longer in force: ${wasDone}` },
  'claim.orphaned': { words: ({ wasDone }) => `Still in force, although its rule is gone or off: ${wasDone}` },
  'claim.released': deedOrNot(
    (told) => `released without a call: ${told.toDo}${told.ofRules}`,
    ({ wasDone }) => `Released: ${wasDone}`,
  ),
  'intent.resolved': deed((told) => `answered “${told.of('as')}” to whether ${told.wasDone}`),
  'intent.reopened': { words: ({ toDo }) => `It is tried once more to ${toDo}` },
  'exemption.added': deed((told) => {
    const until = told.number('expiresAt') > 0 ? ` until ${told.time('expiresAt')}` : '';
    return `exempted ${told.about}${until}`;
  }),
  'exemption.covered': {
    words: (told) => `The exemption of ${told.about} covers ${plural(told.number('covered'), 'subject')}`,
  },
  'exemption.confirmed': deed(
    (told) => `confirmed what joined the exemption of ${told.about} (${told.number('count')})`,
  ),
  'exemption.ended': deed((told) => `ended the exemption of ${told.about}`),
  'exemption.ending': { words: (told) => `The exemption of ${told.about} ends soon: ${told.time('expiresAt')}` },
  'exemption.requested': deed(
    (told) => `asked for an exemption of ${told.about} for ${spanText(told.number('forMs'))}`,
  ),
  'exemption.request_granted': deed(
    (told) => `granted what ${told.of('person')} asked for: to exempt ${told.about}${said(told)}`,
  ),
  'exemption.request_refused': deed(
    (told) => `refused what ${told.of('person')} asked for: to exempt ${told.about}${said(told)}`,
  ),
  'exemption.request_withdrawn': deed((told) => `withdrew the request to exempt ${told.about}`),
  'rollout.began': { words: (told) => `The rollout began${told.because('text')}` },
  'rollout.widened': { words: (told) => `The rollout went on${told.because('text')}` },
  'rollout.braked': { words: (told) => `The rule acts no more, until a person goes on${told.because('text')}` },
  'rollout.planned': { words: (told) => asSentence(told.of('text', 'the undo of what it did is planned')) },
  'rollout.resumed': deed((told) => `let the rule go on whose rollout was stopped${told.ofRules}`),
  'rollout.restarted': deedOrNot(
    (told) => `began a rollout anew${told.ofRules}`,
    (told) => `The rollout begins anew when its rule is back${told.because('text')}`,
  ),
  'stop.set': deed(() => 'stopped everything'),
  'stop.lifted': deed(() => 'resumed'),
  'snapshot.accepted': deed((told) => `accepted the next reading of ${told.of('source')}`),
  'audit.archived': deed(
    (told) => `archived entries ${countText(told.number('from'))} to ${countText(told.number('to'))} of the audit`,
  ),
  'audit.key_replaced': deed(() => 'replaced the signing key'),
  'audit.checkpoints_lost': {
    words: (told) => `The checkpoints in ${told.of('file')} were missing, and were written again`,
  },
  'database.restored': {
    words: (told) => `The database was restored from a backup, or ${told.of('file')} was changed${told.because('why')}`,
  },
  'database.migrated': {
    words: (told) => `The tables were changed from version ${told.number('from')} to ${told.number('to')}`,
  },
  'database.moved': { words: (told) => `The database was moved from ${told.of('from')} to ${told.of('to')}` },
  'tables.accepted': deed(() => 'accepted tables that were changed beside the engine'),
  'tables.changed': { words: () => 'Records were saved, and sealed so that a later edit shows' },
  'restore.accepted': deed(() => 'accepted a restored database'),
  'notification.delivered': { words: (told) => `A message (${messageOf(told)}) reached ${told.of('to')}` },
  'notification.given_up': {
    words: (told) =>
      `A message (${messageOf(told)}) could not reach ${told.of('to')} in ${plural(told.number('attempts'), 'attempt')}${told.because('note')}`,
  },
  'alert.raised': { words: (told) => `An alert was raised${told.because('text', 'code')}` },
  'credential.replaced': { words: (told) => `The credential ${told.of('name')} was replaced` },
  'token.added': deed((told) => `made the token ${told.of('name')} of scope ${told.of('scope')}`),
  'token.revoked': deed((told) => `revoked the token ${told.of('name')}`),
  'passkey.added': deed((told) => `registered the passkey ${told.of('name')}`),
  'passkey.removed': deed(
    (told) => `removed the passkey ${told.of('name')} of ${told.of('owner')}${told.because('reason')}`,
  ),
  'session.began': deed((told) => `signed in at ${told.of('issuer')} with scope ${told.of('scope')}`),
  'person_link.made': deed((told) => `made a link to the page of ${told.of('person')}`),
  'person_link.revoked': deed((told) => `revoked the links to the page of ${told.of('person')}`),
  'stream.created': deed((told) => `began a stream of signals (${told.of('delivery')})`),
  'stream.changed': deed((told) => `changed its stream of signals: ${told.of('what')}`),
  'stream.removed': deed(() => 'removed its stream of signals'),
  'stream.refused': {
    words: (told) => `The receiver ${told.of('receiver')} refused a signal for good${told.because('note')}`,
  },
  'history.forgotten': deed((told) => `removed the records of a ${told.of('subject')} from the history`),
  'notice.begun': { words: (told) => `Before anything is done to ${told.target}, ${told.of('to')} is warned` },
  'notice.sending': { words: (told) => `${stageOf(told)} to ${told.of('to')} about ${told.target} is being sent` },
  'notice.delivered': {
    words: (told) =>
      `${stageOf(told)} to ${told.of('to')} about ${told.target} was delivered: it acts not before ${told.time('dueAt')}`,
  },
  'notice.failed': {
    words: (told) =>
      `${stageOf(told)} to ${told.of('to')} about ${told.target} ${notDelivered(told.of('how'))}${told.because('why')}`,
  },
  'notice.cancelled': { words: (told) => `What was said about ${told.target} no longer counts${told.because('why')}` },
  'notice.mended': {
    words: (told) => `${told.subject} was mended before the deadline (${told.time('dueAt')}), and nothing was done`,
  },
  notice: { words: (told) => asSentence(told.of('text', 'a notice')) },
};

/** What an operator said to the person who asked. */
function said(told: Told): string {
  return `, saying “${told.of('say')}”`;
}

function stageOf(told: Told): string {
  return told.of('stage') === 'reminder' ? 'A reminder' : 'The notice';
}

function messageOf(told: Told): string {
  return told.of('kind', 'something').replaceAll('_', ' ');
}

/** A source has several reasons, each of which begins with its name. */
function whys(source: Fact | undefined, reasons: Fact | undefined): string {
  const texts = (Array.isArray(reasons) ? reasons : [])
    .flatMap((one) => (isFacts(one) && textIn(one, 'text')) || [])
    .map((text) => (text.startsWith(`${source}: `) ? text.slice(`${source}: `.length) : text));
  return texts.length === 0 ? '' : `: ${texts.join('; ')}`;
}

/** Kinds of what people do, some of which runs do, too. */
export const DEEDS = (Object.keys(SENTENCES) as AuditKind[]).filter((kind) => SENTENCES[kind].deed);

interface Entry {
  kind: AuditKind;
  body: Facts;
}

/** What a person did, after the name; undefined: nobody did it. `rules`: of an act that has an entry for each of its rules. */
export function deedWords({ kind, body }: Entry, names: AuditNames, rules?: readonly string[]): string | undefined {
  return SENTENCES[kind].deed?.(new Told(body, names, rules));
}

/** Whole sentences have no full stop: `Nadia's iPhone (F2LUKT2H92) was banned, and the platform accepted it · rule ban-compromised-device · run 52`. */
export function auditSentence({ kind, body }: Entry, names: AuditNames): string {
  // Tampered with, as verifying shows.
  if (Object.keys(body).length === 0 && kind !== 'tables.changed')
    return `The content of this entry (${kind}) cannot be read`;
  const { words, deed } = SENTENCES[kind];
  const told = new Told(body, names);
  // Its rules stand beside the sentence.
  const done = deed?.(new Told(body, names, []));
  const said = saidText({ reason: textIn(body, 'reason'), reference: textIn(body, 'reference') });
  const sentence =
    done === undefined
      ? words(told)
      : `${shownName(told.by('Somebody'))} ${done}${said === undefined ? '' : `: ${shownName(said)}`}`;
  return [sentence, ...besides(told, kind)].join(' · ');
}

/** What is not in the sentence, and leads on. */
function besides({ body, names, rules }: Told, kind: AuditKind): string[] {
  if (kind.startsWith('run.')) return [];
  const all = rules.length > 0 ? rules : names.rulesOf(textIn(body, 'intent') ?? '');
  const run = textIn(body, 'run');
  return [
    ...(all.length === 0 ? [] : [`${all.length === 1 ? 'rule' : 'rules'} ${listed(all)}`]),
    ...(run === undefined ? [] : [names.run(run)]),
  ];
}
