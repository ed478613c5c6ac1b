// explain: why a rule gives its verdict on one subject, and what would be done. In: a rule and any name of a subject. Out: the verdict as read now, what would be decided for this one subject now, and what the last run decided.
// It never rebuilds a run: checks that weigh a subject among others are named, and taken from the recorded decision. Changes nothing.
import { readBundles } from '../act/actions/bundle-membership.ts';
import { decide } from '../decide/decide.ts';
import { Exemptions } from '../decide/exemptions.ts';
import { fieldsWritten } from '../domain/action.ts';
import type { Claim } from '../domain/claim.ts';
import type { Decision, ReasonCode } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import type { Facts } from '../domain/facts.ts';
import type { IdentityReader } from '../domain/identity.ts';
import type { Mode } from '../domain/mode.ts';
import type { PullReader } from '../domain/pull-store.ts';
import type { OpenStateReader } from '../domain/run-store.ts';
import type { Judgement } from '../domain/verdict.ts';
import { compileRules, type Explanation, explain, type LoadedRule } from '../evaluate/index.ts';
import type { Engine } from '../run/engine.ts';
import { ownersOf } from '../run/exemption-of.ts';
import { readsBundles as needsBundles } from '../run/reading-needs.ts';
import {
  type Asked,
  type ExplainBasis,
  type LastRuns,
  type LastRunsReader,
  type Recorded,
  readLastRuns,
} from './last-runs.ts';
import { checksOfARun } from './not-asked.ts';
import { boundedLookups, fleetOf, readEvents, readJoins, readSubject, readTouched } from './read-subject.ts';

export interface ExplainDeps extends Pick<Engine, 'api' | 'clock' | 'ids' | 'actions' | 'daemonMode' | 'quiet'> {
  reader: LastRunsReader & OpenStateReader & IdentityReader & Pick<PullReader, 'coverage' | 'events'>;
  rules: readonly LoadedRule[];
  /** These are not the active rules. */
  isWhatIf: boolean;
  settings: Pick<Engine['settings'], 'decide' | 'trust' | 'events'>;
}

export type DecidedNow = Pick<
  Decision,
  'action' | 'target' | 'decision' | 'reason' | 'reasonText' | 'mode' | 'effect'
> & {
  /** Checks that weigh the subject among others: a run may answer with one of them instead. */
  notAsked: readonly ReasonCode[];
};

export interface ExplainedSubject {
  explanation: Explanation;
  /** The rule's own mode: for a rule that is `off`, nothing is decided. */
  mode: Mode;
  /** What a run over this rule and this one subject would decide now. */
  decisions: DecidedNow[];
  /** Open claims of this rule on this subject. */
  claims: Claim[];
  /** `differs`: from what would be decided for this one subject now. */
  recorded: Recorded & { differs: boolean };
  basis: ExplainBasis;
}

/** Errors: AppError `not_found` for an unknown rule or subject, and those of reading the API. */
export async function explainSubject(deps: ExplainDeps, ruleId: string, id: string): Promise<ExplainedSubject> {
  const { reader, isWhatIf } = deps;
  const lookups = boundedLookups(deps.api);
  const rule = deps.rules.find((loaded) => loaded.id === ruleId);
  if (!rule) {
    const known = deps.rules.map((loaded) => loaded.id).join(', ');
    throw new AppError('not_found', `there is no rule \`${ruleId}\`: loaded are ${known}`);
  }
  const record = await readSubject(lookups, reader, rule.subject, id);
  const nowMs = deps.clock.nowMs();
  const evaluator = compileRules([rule]);
  const { sources, windowMs } = evaluator.needs;
  const asksForServices = rule.subject === 'service';
  const events = sources.has('events') ? await readEvents({ ...deps, nowMs, windowMs, asksForServices }) : undefined;
  const { joins, unavailable } = await readJoins(lookups, evaluator.needs, record);
  const isForbidden = events?.reading.state === 'unavailable';
  const view = {
    nowMs,
    joins,
    coverage: events?.coverage ?? [],
    windowsAtMs: events?.atMs,
    unavailable: new Set([...unavailable, ...(isForbidden ? ['events' as const] : [])]),
  };
  const readAtMs = { devices: nowMs, users: nowMs, services: nowMs, events: events?.atMs };
  const explanation = explain(rule, record, { ...view, events: events?.events ?? [], readAtMs });
  evaluator.observe(events?.events ?? []);
  const judge = evaluator.judge(rule.subject, {
    ...view,
    fieldsWritten: fieldsWritten(deps.actions, rule.subject),
    isOpen: () => true,
  });
  judge.accept(record);
  const asked = { rule, subjectId: explanation.subject.id, events, nowMs, isWhatIf };
  const last = await readLastRuns(reader, asked);
  const now = await decideNow(deps, asked, { record, judgement: judge.finish(), sources: last.sources });
  const recorded = { ...last.recorded, differs: last.basis.run !== undefined && isOther(now, last.recorded) };
  return { explanation, mode: rule.mode, ...now, recorded, basis: last.basis };
}

/** The same pure pipeline as a run. None of the stored decisions is reconciled, so that every proposal is answered. */
async function decideNow(
  { api, reader, actions, rules, daemonMode, ids, quiet, settings }: ExplainDeps,
  { rule, subjectId, events, nowMs, isWhatIf }: Asked,
  { record, judgement, sources }: { record: Facts; judgement: Judgement; sources: LastRuns['sources'] },
): Promise<Pick<ExplainedSubject, 'decisions' | 'claims'>> {
  const { decisions: said, ...openState } = await reader.openState(nowMs);
  const setBackMs = (await reader.clockAgreement())?.setBackMs ?? nowMs;
  const lookups = boundedLookups(api);
  const touched = await readTouched(lookups, rule, record, actions);
  const exemptions = new Exemptions(openState.exemptions ?? [], nowMs);
  // A run does not judge by events that it could not read.
  const isUnjudged = events?.reading.state === 'failed';
  const decided = decide({
    runMode: daemonMode,
    daemonMode,
    nowMs,
    // No steady clock has measured it: the wall clock is enough to explain.
    steady: { nowMs, sinceMs: Number.NEGATIVE_INFINITY, forMs: 0, jumpedMs: nowMs, setBackMs },
    quietMs: quiet.read().ms,
    judged: rule.mode === 'off' || isUnjudged ? [] : [rule],
    unjudged: isUnjudged ? [rule] : [],
    activeRules: new Set(rules.filter(({ mode }) => mode !== 'off').map((one) => one.id)),
    traits: actions,
    judgements: [judgement],
    sources,
    fleet: fleetOf(touched, actions),
    bundles: needsBundles(rule.then, actions) ? await readBundles(api) : undefined,
    openState: { ...openState, decisions: [] },
    said: isWhatIf ? [] : said,
    exemptOwners: exemptions.asksForOwnerRecords ? await ownersOf(lookups, touched) : new Map(),
    ids,
    settings: settings.decide,
  });
  const own = decided.decisions.filter(({ subject }) => subject.id === subjectId);
  return {
    decisions: own.map((one) => {
      const { action, target, decision, reason, reasonText, mode, effect } = one;
      const notAsked = checksOfARun(one, rule, actions.get(action));
      return { action, target, decision, reason, reasonText, mode, effect, notAsked };
    }),
    claims: openState.claims.filter((claim) => claim.rule === rule.id && claim.subjectId === subjectId),
  };
}

function isOther(now: Pick<ExplainedSubject, 'decisions'>, recorded: Recorded): boolean {
  const answers = (decisions: readonly Pick<Decision, 'action' | 'target' | 'decision' | 'reason'>[]) =>
    decisions.map(({ action, target, decision, reason }) => [action, target, decision, reason].join('\u0000')).sort();
  return answers(now.decisions).join('\n') !== answers(recorded.decisions).join('\n');
}
