// decide, after the answers: whom to warn, and which notices are over. In: answered proposals, episodes as they are now, the notices of open ones.
// Out: notices to begin, those that end, with their audit notes. INVARIANT: a notice is begun for what would be done otherwise. Pure.

import type { AuditNote } from '../../domain/audit-entry.ts';
import { LIFTED_BY_APPROVAL, type ReasonCode } from '../../domain/decision.ts';
import type { Episode } from '../../domain/episode.ts';
import {
  addressesOf,
  type EndedNotices,
  type NewNotice,
  type Notice,
  type NoticeContent,
} from '../../domain/notice.ts';
import { groundsOf } from '../../domain/plan.ts';
import { isLive, leastMode, type Rule } from '../../domain/rule.ts';
import type { OpenState } from '../../domain/store.ts';
import { ownersToWarn } from './answer.ts';
import type { FollowedEpisodes } from './episodes.ts';
import type { DecideInput, NoticeToBegin } from './input.ts';
import { type Proposal, proposalKey } from './proposal.ts';

/** What a person said, or what is so already: should it be acted on later, people are warned anew. */
export const CANCELS: ReadonlySet<ReasonCode> = new Set([
  'exempt',
  'overridden',
  'rejected',
  'already_so',
  'impossible_target',
]);

interface NoticesAfter {
  begin: NoticeToBegin[];
  ended: EndedNotices[];
  notes: AuditNote[];
}

export function noticesAfter(
  proposals: readonly Proposal[],
  followed: Pick<FollowedEpisodes, 'changed'>,
  input: DecideInput,
): NoticesAfter {
  const after: NoticesAfter = { begin: [], ended: [], notes: [] };
  const known = input.openState.notices ?? new Map<string, readonly Notice[]>();
  for (const episode of followed.changed.values()) {
    const notices = known.get(episode.id) ?? [];
    if (episode.state === 'closed' && notices.length > 0) end(after, episode, notices, input);
  }
  if (isLive(leastMode(input.runMode, input.daemonMode)))
    for (const [id, notices] of known)
      if (followed.changed.get(id)?.state !== 'closed') cancelOfIdle(after, id, notices, input);
  const byEpisode = new Map<string, Proposal[]>();
  for (const proposal of proposals) {
    if (!proposal.episode || proposal.undo || !isLive(proposal.mode)) continue;
    if (!proposal.notice && !known.has(proposal.episode.id)) continue;
    const group = byEpisode.get(proposal.episode.id);
    if (group) group.push(proposal);
    else byEpisode.set(proposal.episode.id, [proposal]);
  }
  // What another rule does at once needs no deadline.
  const acting = new Set(
    proposals.flatMap((one) => (one.answer?.decision === 'act' && isLive(one.mode) ? [proposalKey(one)] : [])),
  );
  for (const [id, group] of byEpisode) {
    const notices = known.get(id) ?? [];
    cancel(after, group, notices);
    for (const proposal of group) if (!acting.has(proposalKey(proposal))) begin(after, proposal, notices, input);
  }
  return after;
}

/** What was warned of and is over before anything was done is mended. */
function end(
  after: NoticesAfter,
  episode: Episode,
  notices: readonly Notice[],
  { openState, nowMs }: DecideInput,
): void {
  const { id, rule, subject, closeReason } = episode;
  const first = notices.filter(({ aheadMs, status }) => aheadMs === 0 && status === 'delivered');
  const isMended = closeReason === 'cleared' && !isActedOn(id, openState) && first.length > 0;
  const mended = isMended ? first.map((one) => one.id) : [];
  const open = notices.filter(({ status }) => status === 'waiting').map((one) => one.id);
  const others = notices.map((one) => one.id).filter((one) => !mended.includes(one) && !open.includes(one));
  const ended: EndedNotices[] = [
    { ids: mended, status: 'mended', isClosed: true },
    { ids: open, status: 'cancelled', isClosed: true },
    { ids: others, status: undefined, isClosed: true },
  ];
  after.ended.push(...ended.filter(({ ids }) => ids.length > 0));
  if (isMended) {
    const warnedAt = Math.min(...first.map(({ deliveredAt }) => deliveredAt ?? nowMs));
    const dueAt = Math.max(...first.map((one) => one.dueAt ?? 0));
    const { target } = first[0] as Notice;
    const body = {
      episode: id,
      rule,
      subject: { ...subject },
      target,
      to: first.map(({ address }) => address),
      warnedAt,
      dueAt,
    };
    after.notes.push({ kind: 'notice.mended', body });
  } else if (open.length > 0) after.notes.push(cancelledNote(notices, open, 'the match is over'));
}

/** What was acted on was warned of before: that stays on record. */
function isActedOn(id: string, { intents }: Pick<OpenState, 'intents'>): boolean {
  return intents.some(
    ({ undo, sentAt, basis }) => !undo && sentAt !== undefined && basis.some(({ episodeId }) => episodeId === id),
  );
}

/** Of a rule that acts no longer: should it act again, people are warned anew. */
function cancelOfIdle(after: NoticesAfter, id: string, notices: readonly Notice[], input: DecideInput): void {
  const { rule: name } = notices[0] as Notice;
  const rule = input.activeRules.get(name);
  const isIdle = rule ? !isLive(rule.mode) : !input.activeRules.has(name);
  const ids = notices.filter(isCancellable).map((one) => one.id);
  if (!isIdle || ids.length === 0 || isActedOn(id, input.openState)) return;
  after.ended.push({ ids, status: 'cancelled', isClosed: false });
  after.notes.push(cancelledNote(notices, ids, 'its rule acts no longer'));
}

function isCancellable({ status }: Notice): boolean {
  return status !== 'cancelled' && status !== 'mended' && status !== 'sending';
}

/** Also what an owner was told who has it no longer, and what was said by the rule as it was. */
function cancel(after: NoticesAfter, group: readonly Proposal[], notices: readonly Notice[]): void {
  const inForce = notices.filter(isCancellable);
  if (inForce.length === 0) return;
  const isCancelled = ({ answer, intent }: Proposal) =>
    answer !== undefined && CANCELS.has(answer.reason) && intent?.sentAt === undefined;
  const said = group.every(isCancelled) ? group[0]?.answer : undefined;
  const rule = group[0]?.rule as Rule;
  const owners = group.map(ownersToWarn);
  const isTheirs = (address: string) =>
    owners.includes(undefined) || addressesOf(owners.flatMap((one) => one ?? [])).includes(address);
  const why = ({ print, address }: Notice) => {
    if (said) return said.reasonText;
    if (print !== rule.notice?.print) return 'the rule has another notice or action now';
    return isTheirs(address) ? undefined : `${address} no longer owns it`;
  };
  for (const text of new Set(inForce.map(why))) {
    if (text === undefined) continue;
    const ids = inForce.filter((one) => why(one) === text).map(({ id }) => id);
    after.ended.push({ ids, status: 'cancelled', isClosed: false });
    after.notes.push(cancelledNote(notices, ids, text));
  }
}

function cancelledNote([first]: readonly Notice[], ids: readonly string[], why: string): AuditNote {
  const { episodeId, rule, subject, target } = first as Notice;
  const about = { episode: episodeId, rule, subject: { ...subject }, target };
  return { kind: 'notice.cancelled', body: { ...about, notices: [...ids], why } };
}

function begin(after: NoticesAfter, proposal: Proposal, notices: readonly Notice[], input: DecideInput): void {
  const { rule, notice, answer, episode, traits, target } = proposal;
  if (!notice || !answer || !episode || !rule.notice) return;
  const isNow = answer.reason === 'notice' || answer.reason === 'notice_undelivered';
  // What a person approved may be held by a ceiling since: it is asked for again at the deadline.
  const isApprovable =
    answer.decision === 'hold' && (LIFTED_BY_APPROVAL.has(answer.reason) || answer.reason === 'ceiling');
  if (!isNow && !isApprovable) return;
  for (const { address, notice: known } of notice.waits) {
    if (known) continue;
    const other = after.begin.find((one) => one.notice.episodeId === episode.id && one.notice.address === address);
    const grounds = groundsOf({ action: traits.name, target, basis: [{ episodeId: episode.id }] as never });
    if (other) {
      other.isNow ||= isNow;
      other.grounds = [...other.grounds, ...grounds];
      continue;
    }
    const fresh: NewNotice = {
      id: input.ids.next(),
      episodeId: episode.id,
      rule: rule.id,
      subject: episode.subject,
      target,
      address,
      print: rule.notice.print,
      round: 1 + Math.max(0, ...notices.filter((one) => one.address === address).map(({ round }) => round)),
      beforeMs: rule.notice.beforeMs,
      aheadMs: 0,
      status: 'waiting',
      createdAt: input.nowMs,
      dueAt: undefined,
      until: undefined,
      deliveredAt: undefined,
      attempts: 0,
      nextAt: input.nowMs,
      note: undefined,
      content: contentOf(proposal, rule, episode),
      remindMs: rule.notice.remindMs,
    };
    after.begin.push({ notice: fresh, grounds, isNow });
  }
}

function contentOf(
  { traits, summary, devices, target, advice = [] }: Proposal,
  rule: Rule,
  episode: Episode,
): NoticeContent {
  const own = devices.find(({ id }) => id === summary.id) ?? devices[0];
  const { id, title, severity, fix } = rule;
  return {
    rule: { id, title, severity, fix },
    device: {
      id: own?.id ?? summary.id,
      name: own?.name ?? summary.name,
      serial: summary.kind === 'device' ? summary.serial : target,
      platform: own?.platform ?? summary.platform,
      model: own?.model ?? summary.model,
    },
    since: episode.since,
    action: traits.name,
    factors: advice,
  };
}
