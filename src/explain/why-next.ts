// explain: what happens to a subject by itself next, and the commands with which a person changes that. In: what is known of it. Out:
// sentences and commands, most important first. Pure.
import type { DecidedNow } from '../domain/explanation.ts';
import { isInDoubt } from '../domain/intent.ts';
import { NEXT_OF_DOUBT, NEXT_OF_FAILURE } from '../domain/intent-next.ts';
import { isLive } from '../domain/mode.ts';
import { stopText } from '../domain/operator.ts';
import { shellWord } from '../domain/shell-word.ts';
import { timeText } from '../domain/time-text.ts';
import type { WayOut, Why, WhyRule } from '../domain/why.ts';

/** Never empty. Names in it come from the platform: escape it where it is shown. */
export function nextOf(why: Why): string[] {
  const lines = [
    ...(why.stop ? [`nothing is called until \`trustward resume\`: ${stopText(why.stop)}`] : []),
    ...why.unfinished.map(unfinishedLine),
    ...why.waiting.map(
      ({ action, target, plan, status, expiresAt }) =>
        `${action} ${target} waits in plan ${plan} (${status}) until ${timeText(expiresAt)}; then it expires, and the next run plans it again`,
    ),
    ...why.rules.flatMap((rule) => rule.decisions.flatMap((decision) => decisionLine(why, rule, decision))),
    ...claimLines(why),
    ...strangerLines(why),
    ...bannedOf(why).map(({ action, target }) => `${action} is in force on device ${target}`),
  ];
  if (why.unread !== undefined) lines.push(`no rule judges it: ${why.unread}`);
  return lines.length > 0 ? lines : ['nothing: no rule proposes anything for it, and nothing is in force'];
}

function unfinishedLine(intent: Why['unfinished'][number]): string {
  const { id, action, target, outcome, note } = intent;
  const why = note ? ` (${note})` : '';
  if (isInDoubt(intent))
    return `whether ${action} ${target} was done is not known${why}: ${NEXT_OF_DOUBT}, intent ${id}`;
  if (outcome === 'parked') return `${action} ${target} waits for a person${why}: intent ${id}`;
  if (outcome === 'failed') return `${action} ${target} failed${why}: ${NEXT_OF_FAILURE}, intent ${id}`;
  return `${action} ${target} is under way, intent ${id}`;
}

function decisionLine(why: Why, { rule, mode }: WhyRule, decision: DecidedNow): string[] {
  const { action, target, reason, reasonText, verdict, notAsked } = decision;
  if (mode === 'dry-run') return [`${rule} only reports it, in mode dry-run`];
  switch (decision.decision) {
    case 'hold':
      if (reason === 'frozen') return [`${rule}: ${action} ${target} is held: ${reasonText}`];
      return why.waiting.some((one) => one.action === action && one.target === target)
        ? []
        : [`${rule}: ${action} ${target} would be held: ${reasonText}`];
    case 'skip':
      return SKIPS_THAT_PASS.has(reason) ? [`${rule}: ${action} ${target} not yet: ${reasonText}`] : [];
    case 'act': {
      if (why.stop) return [];
      const because = verdict === 'no_match' ? `since rule ${rule} no longer matches` : `by rule ${rule}`;
      const unless = notAsked.length === 0 ? '' : ', if a whole run allows it';
      const does = isLive(decision.mode) ? 'the next run does' : 'a run of mode enforce would do';
      return [`${does} ${action} ${target}, ${because}${unless}`];
    }
  }
}

const SKIPS_THAT_PASS: ReadonlySet<string> = new Set([
  'for_not_reached',
  'cooldown',
  'untrusted_source',
  'older_report',
]);

/** One line for each action on a target: it is undone when its last claim ends. Nothing of what a rule undoes now: that has a line. */
function claimLines({ claims, rules }: Why): string[] {
  const undone = new Set(
    rules.flatMap(({ decisions }) =>
      decisions.flatMap((one) =>
        one.verdict === 'no_match' && (one.decision !== 'skip' || one.reason === 'older_report') ? one.target : [],
      ),
    ),
  );
  const groups = new Map<string, Why['claims']>();
  for (const claim of claims) {
    const key = `${claim.action} ${claim.target}`;
    if (!undone.has(claim.target)) groups.set(key, [...(groups.get(key) ?? []), claim]);
  }
  return [...groups].map(([what, own]) => endOf(what, own, rules));
}

function endOf(what: string, claims: Why['claims'], rules: Why['rules']): string {
  const orphan = claims.find(({ status }) => status === 'orphaned');
  if (orphan)
    return `${what} stays: its rule ${orphan.rule} is missing or off, so a person or another rule has to undo it`;
  const lasting = claims.find((claim) => rules.some(({ rule, revert }) => rule === claim.rule && !revert));
  if (lasting) return `${what} stays: rule ${lasting.rule} has \`revert: false\`, so a person has to undo it`;
  const names = [...new Set(claims.map(({ rule }) => rule))];
  const { clearing } = rules.find(({ rule }) => rule === names[0]) ?? {};
  if (clearing && names.length === 1)
    return `${what} is undone after ${timeText(clearing.until)} if rule ${names[0]} does not match again before: it has not matched since ${timeText(clearing.since)}`;
  return names.length === 1
    ? `${what} is undone when rule ${names[0]} no longer matches`
    : `${what} is undone when none of the rules ${names.join(', ')} matches any more`;
}

/** What somebody else did stays. */
function strangerLines({ states, claims }: Why): string[] {
  return states.flatMap(({ action, target, isSo, isOwn }) =>
    isSo && !isOwn && !claims.some((claim) => claim.action === action && claim.target === target)
      ? [`Trustward does not undo ${action} ${target}: it did not do it`]
      : [],
  );
}

/** The devices of a user, with what is in force on them. */
function bannedOf({ devices }: Why): Why['states'] {
  return devices.flatMap(({ states }) => states.filter(({ isSo }) => isSo));
}

/** Each command once. */
export function waysOutOf(why: Why): WayOut[] {
  const { claims, unfinished, exemption, joined } = why;
  const name = typed(why, why.subject.serial === '' ? why.subject.id : why.subject.serial);
  const exempt = `trustward exempt add ${name} --owner NAME --reason TEXT --until 30d`;
  const ways: WayOut[] = [];
  if (why.stop) ways.push({ purpose: 'let it act again', command: 'trustward resume --reason TEXT' });
  for (const target of new Set(claims.map((claim) => claim.target))) {
    ways.push({ purpose: 'undo it, and keep it so', command: `${exempt} --release` });
    const release = `trustward claims release ${typed(why, target)} --reason TEXT`;
    ways.push({ purpose: 'undo it, until a rule matches anew', command: release });
  }
  ways.push(...waysWaiting(why));
  for (const { id, outcome } of unfinished) {
    if (outcome === undefined) continue;
    ways.push({ purpose: 'try it again', command: `trustward intents resolve ${id} --as retry --reason TEXT` });
    ways.push({ purpose: 'give it up', command: `trustward intents resolve ${id} --as not-done --reason TEXT` });
  }
  for (const { identity } of why.devices.filter(({ states }) => states.some(({ isSo }) => isSo)))
    ways.push({ purpose: 'why it is so', command: `trustward why ${typed({ subject: identity }, identity.serial)}` });
  if (exemption)
    ways.push({ purpose: 'end the exemption', command: `trustward exempt end ${exemption.id} --reason TEXT` });
  else if (joined) {
    const confirm = `trustward exempt confirm ${joined.id} --subject ${name} --reason TEXT`;
    ways.push({ purpose: 'let the exemption cover it', command: confirm });
  } else if (claims.length === 0) ways.push({ purpose: 'protect it', command: exempt });
  const rule = why.rules.find(({ verdict }) => verdict === 'match') ?? why.rules[0];
  if (rule) ways.push({ purpose: 'every fact of a rule', command: `trustward explain ${rule.rule} ${name}` });
  return [...new Map(ways.map((way) => [way.command, way])).values()];
}

/** All of a plan that is about the subject is approved at once: a part leaves the rest in another plan. */
function waysWaiting(why: Why): WayOut[] {
  return [...new Map(why.waiting.map(({ plan, status }) => [plan, status]))].flatMap(([plan, status]) => {
    const glass = isFrozen(why) ? ' --break-glass --reason TEXT' : '';
    if (status !== 'pending') return [{ purpose: 'do it now', command: `trustward apply ${plan}${glass}` }];
    const own = why.waiting.filter((one) => one.plan === plan).map(({ target }) => typed(why, target));
    const approve = `trustward approve ${plan} --only ${[...new Set(own)].join(' ')}`;
    return [
      { purpose: 'approve only this', command: approve },
      ...(glass === ''
        ? []
        : [{ purpose: 'do only this now, through the change window', command: `${approve}${glass}` }]),
      { purpose: 'see the whole plan', command: `trustward plans ${plan}` },
    ];
  });
}

function isFrozen({ rules }: Why): boolean {
  return rules.some(({ decisions }) => decisions.some(({ reason }) => reason === 'frozen'));
}

const UNTYPED = /^-|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** A serial number that would be an option of the command, or cannot be typed, gives way to the id. */
function typed({ subject }: Pick<Why, 'subject'>, text: string): string {
  return shellWord(UNTYPED.test(text) ? subject.id : text);
}
