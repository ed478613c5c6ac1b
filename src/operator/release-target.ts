// operator: the undo of one target, as a person asked for it: through act's gate, preflight and ceilings. In: open claims of one action
// on the target. Out: the result. Its episodes are overridden: it is not done again while their matches last.
// The claims end with the undo, in one commit with its outcome: an undo that fails leaves them open.
import { carryOutOne } from '../act/carry-out.ts';
import type { ActContext } from '../act/context.ts';
import { isToBeCarriedOut, openAgain, openIntent } from '../act/gate.ts';
import { claimNote } from '../act/settle.ts';
import { targetFacts } from '../act/target-facts.ts';
import type { Action, ActionName, ReadBack } from '../domain/action.ts';
import type { AuditNote } from '../domain/audit-entry.ts';
import type { Refusal, TargetFacts } from '../domain/check.ts';
import type { Claim } from '../domain/claim.ts';
import type { StoredDecision } from '../domain/decision.ts';
import type { Effect } from '../domain/effect.ts';
import type { Episode } from '../domain/episode.ts';
import { AppError } from '../domain/errors.ts';
import { type Intent, type IntentDraft, isDone, isUnresolved } from '../domain/intent.ts';
import type { Released } from '../domain/operator.ts';
import type { PlannedIntent } from '../domain/plan.ts';
import { elapsedMs } from '../domain/steady-time.ts';
import { summaryOf } from '../domain/target.ts';
import { isSameTarget } from '../domain/target-key.ts';
import type { Engine } from '../run/engine.ts';
import type { Operator } from './commands.ts';

export interface StoredOnTarget {
  intents: readonly Intent[];
  decisions: readonly StoredDecision[];
}

/** What is stored about the target, for its undos. */
export async function storedOn({ store }: Engine, target: string): Promise<StoredOnTarget> {
  return { intents: await store.intentsOn(target), decisions: await store.decisionsOn(target) };
}

/** One undo of an approved plan: the claims that it names and that are still open. Errors: those of `releaseClaims`. */
export async function releasePlanned(
  engine: Engine,
  context: ActContext,
  planned: PlannedIntent,
  planId: string,
  who: Operator,
): Promise<Released> {
  const done = engine.actions.get(planned.action)?.inverse;
  const episodes = new Set(planned.basis.map(({ episodeId }) => episodeId));
  const claims = (await engine.store.openClaimsOn(planned.target)).filter(
    (claim) => claim.action === done && episodes.has(claim.episodeId),
  );
  if (done === undefined || claims.length === 0)
    throw new AppError('conflict', 'nothing that Trustward did is left to undo');
  const stored = await storedOn(engine, planned.target);
  return new Release(engine, context, stored, done, claims, who, { planned, planId }).perform();
}

export class Release {
  private readonly target: string;
  private readonly undo: Action;

  constructor(
    private readonly engine: Engine,
    private readonly context: ActContext,
    private readonly stored: StoredOnTarget,
    private readonly done: ActionName,
    private readonly claims: readonly Claim[],
    private readonly who: Operator,
    /** Its effect was approved with the plan: nothing beyond it is undone. */
    private readonly approved?: { planned: PlannedIntent; planId: string },
  ) {
    this.target = (claims[0] as Claim).target;
    const inverse = engine.actions.get(done)?.inverse;
    if (!inverse) throw new AppError('conflict', `nothing undoes ${done} on \`${this.target}\``);
    this.undo = engine.actions.get(inverse) as Action;
  }

  async perform(): Promise<Released> {
    const { context } = this;
    const fresh = await this.undo.readBack(this.engine.api, this.target, {});
    const intent = this.open(context, fresh);
    const facts = { ...(await targetFacts(context, intent, fresh)), ...this.ownDoing(fresh) };
    const refused = context.ask('releasing', facts);
    const isNeedless = refused?.check === 'already-so' || refused?.check === 'target-gone';
    if (refused && !isNeedless) {
      const hint = refused.check === 'stopped' ? '; `resume` comes first' : '';
      throw new AppError('conflict', `${refused.reasonText}${hint}`);
    }
    if (!isToBeCarriedOut(intent)) return this.describe(intent, isNeedless, context.ask('preflight', facts));
    return refused ? this.releaseWithoutCall(`${refused.reasonText}: nothing to undo`) : this.send(context, intent);
  }

  /** An undo that failed before is tried again. */
  private open(context: ActContext, fresh: ReadBack): Intent {
    const draft = this.draft(fresh);
    const { ids, clock, daemonMode } = this.engine;
    const failed = this.liveUndo();
    const planId = this.approved && { planId: this.approved.planId };
    const opened = failed
      ? { ...openAgain(failed, daemonMode), basis: draft.basis, effect: draft.effect }
      : openIntent(draft, daemonMode, { id: ids.next(), runId: context.runId, nowMs: clock.nowMs(), ...planId });
    return { ...opened, approved: true, released: true };
  }

  /** Trustward's own unfinished actions on the target: not resolved or not begun yet, or too recent to be read. */
  private ownDoing({ state }: ReadBack): Pick<TargetFacts, 'doubt' | 'justDoneMs'> {
    const { steady, quiet } = this.engine;
    const { ms: quietMs } = quiet.read();
    const reading = steady.read();
    const own = new Set(this.claims.map(({ intentId }) => intentId));
    const isYoung = this.stored.intents.some(
      ({ id, settledAt }) => own.has(id) && settledAt !== undefined && elapsedMs(reading, settledAt) < quietMs,
    );
    const isReadUndone = state === 'as_intended' || state === 'absent';
    const doubt = this.stored.intents.find(
      (other) =>
        isSameTarget(other, { action: this.done, target: this.target }, this.engine.actions) &&
        other.mode !== 'dry-run' &&
        other.status !== 'withdrawn' &&
        isUnresolved(other),
    );
    return { doubt, justDoneMs: isYoung && isReadUndone ? quietMs : undefined };
  }

  /** Nothing to call: the claims end at once. */
  private async releaseWithoutCall(text: string): Promise<Released> {
    const endedAt = this.engine.clock.nowMs();
    const claims = this.claims.map((claim): Claim => ({ ...claim, status: 'released', endedAt }));
    const notes = claims.map((claim) => {
      const { kind, body } = claimNote(claim);
      return { kind, body: { ...body, ...this.who, text } };
    });
    const overridden = await this.overridden();
    const release = { intent: undefined, claims, episodes: overridden };
    await this.engine.store.release({ ...release, notes: [...notes, ...this.episodeNotes(overridden)] });
    return { ...this.head, state: 'released', text, intent: undefined };
  }

  /** The gate lets no call through: returns what would be done or refused, and records the request. */
  private async describe({ effect }: Intent, isNeedless: boolean, refused: Refusal | undefined): Promise<Released> {
    const would = refused ? `would be refused: ${refused.reasonText}` : `would be done: ${effect.text}`;
    const text = isNeedless ? 'nothing would be called' : would;
    await this.engine.store.appendAudit([
      { kind: 'intent.dry', body: { action: this.undo.name, target: this.target, text, ...this.who } },
    ]);
    return { ...this.head, state: 'dry_run', text, intent: undefined };
  }

  private async send(context: ActContext, intent: Intent): Promise<Released> {
    const overridden = await this.overridden();
    const { store } = this.engine;
    const notes = [this.plannedNote(intent), ...this.episodeNotes(overridden)];
    if (this.liveUndo()) await store.reopen({ intents: [intent], episodes: overridden, notes });
    else await store.release({ intent, claims: [], episodes: overridden, notes });
    await carryOutOne(context, intent);
    return this.outcomeOf(intent.id);
  }

  private async outcomeOf(id: string): Promise<Released> {
    const intent = (await this.engine.store.intents({ ids: [id] }))[0] as Intent;
    const text = `${intent.outcome ?? intent.status}${intent.note ? `: ${intent.note}` : ''}`;
    return { ...this.head, state: isDone(intent) ? 'released' : 'standing', text, intent };
  }

  private get head(): Pick<Released, 'target' | 'action'> {
    return { target: this.target, action: this.undo.name };
  }

  /** An earlier undo of these episodes, by a rule or a person. */
  private liveUndo(): Intent | undefined {
    const episodes = new Set(this.claims.map((claim) => claim.episodeId));
    return this.stored.intents.find(
      ({ action, target, mode, status, basis }) =>
        action === this.undo.name &&
        target === this.target &&
        mode !== 'dry-run' &&
        status !== 'withdrawn' &&
        basis.some(({ episodeId }) => episodes.has(episodeId)),
    );
  }

  private draft(fresh: ReadBack): IntentDraft {
    const drafted = undoDraft(this.engine, this.undo, this.claims, devicesOf(fresh));
    return this.approved ? { ...drafted, effect: this.approved.planned.effect } : drafted;
  }

  /** The claims' episodes, and those of other rules that propose the same for this target. */
  private async overridden(): Promise<Episode[]> {
    const proposing = this.stored.decisions.filter(({ action }) => action === this.done);
    const ids = new Set([...this.claims, ...proposing].flatMap(({ episodeId }) => episodeId ?? []));
    const overriddenAt = this.engine.clock.nowMs();
    const episodes = await this.engine.store.episodesInForce([...ids]);
    return episodes
      .filter(({ state, overriddenAt: before }) => state !== 'closed' && before === undefined)
      .map((episode) => ({ ...episode, overriddenAt }));
  }

  private episodeNotes(episodes: readonly Episode[]): AuditNote[] {
    return episodes.map(({ id, rule, subject }) => ({
      kind: 'episode.overridden',
      body: { episode: id, rule, subject: subject.id, action: this.done, target: this.target, ...this.who },
    }));
  }

  private plannedNote({ id, action, target, mode, basis, effect }: Intent): AuditNote {
    const rules = basis.map(({ rule }) => rule);
    const body = { intent: id, action, target, mode, undo: true, released: true, effect: effect.text, rules };
    return { kind: 'intent.planned', body: { ...body, plan: this.approved?.planId, ...this.who } };
  }
}

/** The undo of these claims, all of them of one action on one target. */
export function undoDraft(
  { active }: Pick<Engine, 'active'>,
  undo: Action,
  claims: readonly Claim[],
  devices: Effect['devices'],
): IntentDraft {
  const hashes = new Map(active().rules.map((rule) => [rule.id, rule.hash]));
  const { target } = claims[0] as Claim;
  return {
    action: undo.name,
    target,
    settings: {},
    undo: true,
    released: true,
    basis: claims.map(({ rule, subjectId, episodeId }) => ({
      rule,
      ruleHash: hashes.get(rule) ?? '',
      subjectId,
      episodeId,
      decisionId: '',
      facts: {},
    })),
    effect: { text: undo.effect(target, devices, {}), devices },
  };
}

function devicesOf({ records }: ReadBack): Effect['devices'] {
  return records
    .filter((record) => Object.hasOwn(record, 'DeviceID'))
    .map((record) => {
      const { id, name, platform, model, serial, owners } = summaryOf('device', record);
      return { id, name, platform, model, serial, ...(owners && { owners }) };
    });
}
