// domain: approvals.yaml: how many people have to say yes to a plan, and of which groups. It is part of a rule set, as guards are. In: a plan, what the
// audit has of who said yes. Out: what is missing. INVARIANT: only persons count: whom an identity provider vouched for, or whose token the file names.
import { actorText, personOf, tokenOf } from './actor.ts';
import { type Touch, type TouchedFor, withPasskey } from './passkey.ts';
import type { RuleSeverity } from './subjects.ts';

export interface Approval {
  people: number;
  /** Each of them is in one of these; empty: in whichever. */
  groups: readonly string[];
  /** Whoever asked for the plan's run, or for the release, or signed the rules, is at most the first of several. */
  notSelf: boolean;
  /** Only a yes with a passkey counts. */
  touch?: boolean | undefined;
  /** Empty lists: all. */
  rules: readonly string[];
  actions: readonly string[];
  severities: readonly RuleSeverity[];
  /** Only of plans with at least so many such targets. */
  from: number;
  /** Asked as owners of this folder. */
  owns?: string | undefined;
}

/** A token that a person holds: all others are of programs, which count as nobody. */
export interface PersonsToken {
  token: string;
  email: string;
  groups: readonly string[];
}

/** Of `guards.yaml`: whose yes the rules of a folder need, and nobody else's will do. */
export interface Owner {
  /** Below the folder of rules; `.` is all of it. */
  folder: string;
  groups: readonly string[];
  /** Of the set: those for which no deeper folder has owners of its own. */
  rules: readonly string[];
}

export interface Approvals {
  approvals: readonly Approval[];
  tokens: readonly PersonsToken[];
  /** Absent where no folder has any. */
  owners?: readonly Owner[] | undefined;
  /** Who signed the rule set: the addresses. */
  signedBy?: readonly string[] | undefined;
}

/** A yes as the audit has it. */
export interface Yes {
  at: number;
  by: string;
  /** Of the person, when it was said. */
  groups: readonly string[];
  reason?: string | undefined;
  /** A passkey of the person signed it. */
  touched?: true | undefined;
}

/** What a plan keeps for people; whether it may be done is asked of the audit. */
export interface PlanYes {
  given: readonly Yes[];
  /** What it waits for; undefined: nothing. */
  missing?: string | undefined;
}

/** With what a passkey signed, which nobody has judged yet. */
export interface SignedYes extends Yes {
  signed?: { touch: Touch; about: TouchedFor };
}

export interface AuditedYes {
  given: readonly SignedYes[];
  /** Who asked for its run, or for the release; undefined: nobody, it was the schedule. */
  asked: string | undefined;
}

/** Of a plan: what it is about. */
interface About {
  intents: readonly { action: string; target: string; basis: readonly { rule: string }[] }[];
}

interface RuleOfSet {
  id: string;
  severity: RuleSeverity;
  guards?: { approvals?: Approvals | undefined } | undefined;
}

interface Voter {
  /** The same person by any of these is one: nobody is their own second. */
  names: readonly string[];
  groups: ReadonlySet<string>;
}

/** Undefined: nobody that counts. */
function voterOf({ by, groups }: Pick<Yes, 'by' | 'groups'>, { tokens }: Approvals): Voter | undefined {
  const person = personOf(by);
  if (person)
    return {
      names: [`${person.issuer} ${person.sub}`, person.email.toLowerCase()],
      groups: new Set(groups),
    };
  const named = tokens.find(({ token }) => token === tokenOf(by));
  return named && { names: [named.email.toLowerCase()], groups: new Set(named.groups) };
}

function isSame(one: Voter, other: Voter): boolean {
  return one.names.some((name) => other.names.includes(name));
}

/** What the approvals of a set ask about a plan. A rule that is not there any longer may have had any severity. */
export function approvalsFor({ intents }: About, { approvals }: Approvals, rules: readonly RuleOfSet[]): Approval[] {
  const severity = new Map(rules.map((rule) => [rule.id, rule.severity]));
  return approvals.filter(({ rules: named, actions, severities, from }) => {
    const about = intents.filter(
      ({ action, basis }) =>
        (actions.length === 0 || actions.includes(action)) &&
        basis.some(
          ({ rule }) =>
            (named.length === 0 || named.includes(rule)) &&
            (severities.length === 0 || severities.includes(severity.get(rule) ?? (severities[0] as RuleSeverity))),
        ),
    );
    return new Set(about.map(({ action, target }) => `${action} ${target}`)).size >= from;
  });
}

/** One yes of the owners of each folder that a rule of the plan is of. */
export function ownersFor({ intents }: About, { owners = [] }: Approvals): Approval[] {
  const named = new Set(intents.flatMap(({ basis }) => basis.map(({ rule }) => rule)));
  return owners
    .filter(({ rules }) => rules.some((rule) => named.has(rule)))
    .map(({ folder, groups, rules }) => {
      return { people: 1, groups, notSelf: false, rules, actions: [], severities: [], from: 1, owns: folder };
    });
}

/** The first of these actions, each given by its rules, for which somebody may not answer: none of its owned rules is theirs. Undefined: they may for all. */
export function notOwned(
  who: Pick<Yes, 'by' | 'groups'>,
  actions: Iterable<readonly string[]>,
  all: Approvals,
): { rule: string; owner: Owner } | undefined {
  if (!all.owners) return undefined;
  const groups = voterOf(who, all)?.groups;
  const owners = new Map(all.owners.flatMap((owner) => owner.rules.map((rule) => [rule, owner])));
  for (const rules of actions) {
    const owned = rules.flatMap((rule) => {
      const owner = owners.get(rule);
      return owner ? [{ rule, owner }] : [];
    });
    const isTheirs = owned.some(({ owner }) => owner.groups.some((group) => groups?.has(group)));
    if (owned.length > 0 && !isTheirs) return owned[0];
  }
  return undefined;
}

/** Which rule, which folder, whose it is, and what to do. */
export function notOwnedText(
  { by, groups = [] }: { by: string; groups?: readonly string[] | undefined },
  { rule, owner }: { rule: string; owner: Owner },
  all: Approvals,
): string {
  const isNobody = voterOf({ by, groups }, all) === undefined;
  const who = isNobody ? `, whom the identity provider vouches for or whose token ${APPROVALS} names` : '';
  return `rule \`${rule}\` is of the folder \`${owner.folder}\`, which belongs to ${owner.groups.join(' or ')}, and ${actorText(by)} is none of them: ask one of them${who}`;
}

/** Of a plan's intents, for `notOwned`. */
export function rulesOfEach({ intents }: About): string[][] {
  return intents.map(({ basis }) => basis.map(({ rule }) => rule));
}

/** What a set asks; undefined: nothing. Each of its rules has it. */
export function approvalsIn(rules: readonly Pick<RuleOfSet, 'guards'>[]): Approvals | undefined {
  return rules.find(({ guards }) => guards)?.guards?.approvals;
}

/** Whether only a yes with a passkey counts for something that is asked about it. */
export function asksTouch(plan: About, rules: readonly RuleOfSet[]): boolean {
  const all = approvalsIn(rules);
  return all !== undefined && approvalsFor(plan, all, rules).some(({ touch }) => touch);
}

/** Whose yes a plan needs by these rules; undefined: one person's, whoever it is. */
export function neededText(
  plan: About & { agreed?: PlanYes | undefined },
  rules: readonly RuleOfSet[],
): string | undefined {
  if (plan.agreed) return plan.agreed.missing;
  const all = approvalsIn(rules);
  return all && missingFor([...approvalsFor(plan, all, rules), ...ownersFor(plan, all)], [], undefined, all);
}

/** The same of a plan that waits. */
export function needsOf(
  plan: Parameters<typeof neededText>[0] & { status: string },
  rules: readonly RuleOfSet[],
): string | undefined {
  return plan.status === 'pending' ? neededText(plan, rules) : undefined;
}

/** Why this yes counts for none of these; undefined: it counts. `asked`: who asked for the run or the release. */
export function whyNoYes(
  yes: Yes,
  {
    needed,
    given,
    asked,
    all,
  }: { needed: readonly Approval[]; given: readonly Yes[]; asked: string | undefined; all: Approvals },
): string | undefined {
  const voter = voterOf(yes, all);
  if (!voter)
    return `\`${yes.by}\` is no person whom the identity provider vouched for, and ${APPROVALS} names no such token`;
  const earlier = given.find((one) => isSameVoter(one, voter, all));
  if (earlier)
    return `${actorText(yes.by)} has said yes already: it waits for ${missingFor(needed, given, asked, all)}`;
  const missing = (of: readonly Yes[]) => shortOf(needed, of, asked, all).reduce((sum, one) => sum + one.missing, 0);
  if (missing([...given, yes]) < missing(given)) return undefined;
  if (!yes.touched && missing([...given, { ...yes, touched: true }]) < missing(given))
    return `${APPROVALS} asks for a passkey, and this yes came without one: ${REGISTER}`;
  return `a yes of ${actorText(yes.by)} does not count here: it waits for ${missingFor(needed, given, asked, all)}`;
}

function isSameVoter(one: Yes, voter: Voter, all: Approvals): boolean {
  const other = voterOf(one, all);
  return other !== undefined && isSame(other, voter);
}

/** INVARIANT: of those who asked for it or signed the rules, one yes counts, and never the last that is needed. */
function shortOf(needed: readonly Approval[], given: readonly Yes[], asked: string | undefined, all: Approvals) {
  const asker = asked === undefined ? undefined : voterOf({ by: asked, groups: [] }, all);
  return needed.flatMap((approval) => {
    const { people, groups, notSelf, touch } = approval;
    const voters: Voter[] = [];
    for (const yes of given) {
      if (touch && !yes.touched) continue;
      const voter = voterOf(yes, all);
      if (!voter || voters.some((one) => isSame(one, voter))) continue;
      if (groups.length === 0 || groups.some((group) => voter.groups.has(group))) voters.push(voter);
    }
    const signers = all.signedBy ?? [];
    const isSelf = (one: Voter) =>
      notSelf && ((asker !== undefined && isSame(one, asker)) || one.names.some((name) => signers.includes(name)));
    const others = voters.filter((one) => !isSelf(one)).length;
    const missing = Math.max(people - voters.length, Math.max(1, people - 1) - others);
    const isAsker = (signer: string) => asker?.names.includes(signer) ?? false;
    const both = signers.some(isAsker) ? ' and signed the rules' : '';
    const notOf = [
      ...(asker && asked !== undefined ? [`${actorText(asked)}, who asked for it${both}`] : []),
      ...signers.filter((signer) => !isAsker(signer)).map(signerText),
    ];
    return missing > 0 ? [{ approval, missing, notOf: notSelf ? notOf : [] }] : [];
  });
}

const signerText = (name: string) => `${name}, who signed the rules`;

/** `one more yes of security`; undefined: nothing is missing. */
export function missingFor(
  needed: readonly Approval[],
  given: readonly Yes[],
  asked: string | undefined,
  all: Approvals,
): string | undefined {
  const texts = shortOf(needed, given, asked, all).map(({ approval: { groups, owns, touch }, missing, notOf }) => {
    const owned = owns === undefined ? '' : ` (owners of \`${owns}\`)`;
    const of = groups.length === 0 ? '' : ` of ${groups.join(' or ')}${owned}`;
    const not = notOf.length === 0 ? '' : `, not of ${notOf.join(', or of ')}`;
    return `${missing === 1 ? 'one' : missing}${given.length > 0 ? ' more' : ''} ${missing === 1 ? 'yes' : 'yeses'}${of}${withPasskey(touch)}${not}`;
  });
  return texts.length === 0 ? undefined : [...new Set(texts)].join(', and ');
}

/** The groups that a set names: of a person who is in thousands, these are kept. */
export function groupsOf(rules: readonly Pick<RuleOfSet, 'guards'>[]): string[] {
  const { approvals = [], owners = [] } = approvalsIn(rules) ?? {};
  return [...approvals, ...owners].flatMap(({ groups }) => groups);
}

/** Who said yes to a plan: one, or several. */
export function approversText(plan: {
  agreed?: { given: readonly { by: string; touched?: boolean | undefined }[] } | null | undefined;
  decidedBy?: string | null | undefined;
}): string | undefined {
  if (plan.agreed)
    return plan.agreed.given.map(({ by, touched }) => `${actorText(by)}${withPasskey(touched)}`).join(' and ');
  return plan.decidedBy ? actorText(plan.decidedBy) : undefined;
}

/** What the file demands, one line each. */
export function approvalLines({ approvals, tokens }: Approvals): string[] {
  const lines = approvals.map(({ people, groups, notSelf, touch, rules, actions, severities, from }) => {
    const about = [
      ...(rules.length > 0 ? [`of ${rules.join(' or ')}`] : []),
      ...(actions.length > 0 ? [`with ${actions.join(' or ')}`] : []),
      ...(severities.length > 0 ? [`of severity ${severities.join(' or ')}`] : []),
      ...(from > 1 ? [`from ${from} targets on`] : []),
    ];
    const who = `${people === 1 ? 'one person' : `${people} people`}${groups.length === 0 ? '' : ` of ${groups.join(' or ')}`}${withPasskey(touch)}`;
    const self = notSelf ? '' : '; whoever asked for it counts as any other';
    return `asks ${who} about ${about.length === 0 ? 'every plan' : `plans ${about.join(', ')}`}${self}`;
  });
  return [
    ...lines,
    ...(tokens.length > 0
      ? [`counts the holders of these tokens as people: ${tokens.map(({ token }) => token).join(', ')}`]
      : []),
  ];
}

/** What the file is called in texts. */
export const APPROVALS = '`approvals.yaml`';

const REGISTER =
  'register one on the page `/passkeys`, then answer on the page of the plan, where the browser asks for it';
