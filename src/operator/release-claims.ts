// operator: a person releases a target: what Trustward did to it is undone now, through act's gate, preflight and ceilings.
// In: a target with open claims. Out: the result. Its episodes are overridden: it is not done again while their matches last.
// The claims end with the undo, in one commit with its outcome: an undo that fails leaves them open.
import { carryOut } from '../act/carry-out.ts';
import { type ActContext, noCounts, type RunCounts } from '../act/context.ts';
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
import { elapsedMs } from '../domain/steady-time.ts';
import { summaryOf } from '../domain/target.ts';
import { type ActionOnTarget, isSameTarget } from '../domain/target-key.ts';
import { actContext, type Engine, rulesOfRun } from '../run/engine.ts';
import { claimedTarget } from './claimed-target.ts';
import { checked, type Operator } from './commands.ts';

export interface Released {
  target: string;
  action: ActionName;
  /** released: the claims ended. dry_run: the mode only allows a report. standing: the undo was not done (yet). */
  state: 'released' | 'dry_run' | 'standing';
  /** For people: what was done, would be done, or why it was not. */
  text: string;
  /** The undo that was sent; undefined when none was needed. */
  intent: Intent | undefined;
}

/**
 * `about`: any name of the target, or a claim on it, since two targets may have the same text.
 * `counts`: the counts of the whole command; several targets together stay within the ceilings of one run.
 * Errors: AppError `not_found` (no open claim), `usage` (the name may mean several), `conflict` (stopped, or an undo not resolved yet), and those of reading the API.
 */
export async function releaseClaims(
  engine: Engine,
  about: string | ActionOnTarget,
  operator: Operator,
  counts: RunCounts = noCounts(),
): Promise<Released[]> {
  const who = checked(operator);
  const { store } = engine;
  const target = typeof about === 'string' ? await claimedTarget(store, about) : about.target;
  const onText = await store.openClaimsOn(target);
  const open =
    typeof about === 'string' ? onText : onText.filter((claim) => isSameTarget(claim, about, engine.actions));
  const stored = { intents: await store.intentsOn(target), decisions: await store.decisionsOn(target) };
  const released: Released[] = [];
  for (const action of new Set(open.map((claim) => claim.action))) {
    const claims = open.filter((claim) => claim.action === action);
    released.push(await new Release(engine, stored, action, claims, who, counts).perform());
  }
  return released;
}

interface StoredOnTarget {
  intents: readonly Intent[];
  decisions: readonly StoredDecision[];
}

class Release {
  private readonly target: string;
  private readonly undo: Action;

  constructor(
    private readonly engine: Engine,
    private readonly stored: StoredOnTarget,
    private readonly done: ActionName,
    private readonly claims: readonly Claim[],
    private readonly who: Operator,
    private readonly counts: RunCounts,
  ) {
    this.target = (claims[0] as Claim).target;
    const inverse = engine.actions.get(done)?.inverse;
    if (!inverse) throw new AppError('conflict', `nothing undoes ${done} on \`${this.target}\``);
    this.undo = engine.actions.get(inverse) as Action;
  }

  async perform(): Promise<Released> {
    const context = await this.context();
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
    const opened = failed
      ? { ...openAgain(failed, daemonMode), basis: draft.basis, effect: draft.effect }
      : openIntent(draft, daemonMode, { id: ids.next(), runId: context.runId, nowMs: clock.nowMs() });
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
    await carryOut(context, [intent]);
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
    const hashes = new Map(this.engine.active().rules.map((rule) => [rule.id, rule.hash]));
    const devices = devicesOf(fresh);
    return {
      action: this.undo.name,
      target: this.target,
      settings: {},
      undo: true,
      basis: this.claims.map(({ rule, subjectId, episodeId }) => ({
        rule,
        ruleHash: hashes.get(rule) ?? '',
        subjectId,
        episodeId,
        decisionId: '',
        facts: {},
      })),
      effect: { text: this.undo.effect(this.target, devices, {}), devices },
    };
  }

  private async context(): Promise<ActContext> {
    const { engine } = this;
    const run = await engine.store.latestRun();
    if (!run) throw new AppError('not_found', 'there is no run yet: nothing can have been done');
    const context = await actContext(engine, run, await rulesOfRun(engine, { rules: undefined }), engine.daemonMode);
    return { ...context, counts: this.counts };
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
    return { kind: 'intent.planned', body: { ...body, ...this.who } };
  }
}

function devicesOf({ records }: ReadBack): Effect['devices'] {
  return records
    .filter((record) => Object.hasOwn(record, 'DeviceID'))
    .map((record) => {
      const { id, name, platform, model, serial, owners } = summaryOf('device', record);
      return { id, name, platform, model, serial, ...(owners && { owners }) };
    });
}
