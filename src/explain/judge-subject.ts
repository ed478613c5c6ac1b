// explain: judges one subject by some rules as it is read now, and decides what a run over these rules and this subject would. In: the
// rules of one kind of subject, any name of one. Out: an explanation for each rule, and decisions. The same pure code as in a run; it changes
// nothing, and rebuilds no whole run.
import { readBundles } from '../act/actions/bundle-membership.ts';
import { decide } from '../decide/decide.ts';
import { Exemptions } from '../decide/exemptions.ts';
import { fieldsWritten } from '../domain/action.ts';
import { windowAt } from '../domain/change-window.ts';
import type { Claim } from '../domain/claim.ts';
import type { DecidedNow, Explanation } from '../domain/explanation.ts';
import { type Facts, ownText } from '../domain/facts.ts';
import type { IdentityReader } from '../domain/identity.ts';
import type { LookBackSource } from '../domain/look-back.ts';
import type { PullReader } from '../domain/pull-store.ts';
import { rulesById } from '../domain/rule.ts';
import type { OpenStateReader } from '../domain/run-store.ts';
import type { SourceReading } from '../domain/snapshot.ts';
import type { Source, SubjectKind } from '../domain/subjects.ts';
import { summaryOf } from '../domain/target.ts';
import type { Judgement } from '../domain/verdict.ts';
import { compileRules, explain, type LoadedRule } from '../evaluate/index.ts';
import type { Engine } from '../run/engine.ts';
import { fillLookBack } from '../run/fill-look-back.ts';
import { deletesDevices, readsBundles as needsBundles } from '../run/reading-needs.ts';
import { boundedLookups, ownersOf } from '../run/single-reads.ts';
import type { LastRunsReader } from './last-runs.ts';
import { checksOfARun } from './not-asked.ts';
import { fleetOf, type ReadEvents, readEvents, readJoins, readSubject, readTouched } from './read-subject.ts';

export interface ExplainDeps extends Pick<Engine, 'api' | 'clock' | 'ids' | 'actions' | 'daemonMode' | 'quiet'> {
  reader: LastRunsReader & OpenStateReader & IdentityReader & Pick<PullReader, 'coverage' | 'events'>;
  rules: readonly LoadedRule[];
  /** These are not the active rules. */
  isWhatIf: boolean;
  /** What rules that look back read; absent: their past is unknown. */
  lookBack?: LookBackSource | undefined;
  settings: Pick<Engine['settings'], 'decide' | 'trust' | 'events' | 'lists' | 'freeze'>;
}

/** One subject as read now, and what each of the rules says of it. */
export interface JudgedSubject {
  id: string;
  nowMs: number;
  record: Facts;
  /** Undefined when none of the rules counts events. */
  events: ReadEvents | undefined;
  /** In the order of the rules. */
  explanations: Explanation[];
  judgement: Judgement;
}

/** `rules`: at least one, all of this kind. Errors: AppError `not_found` for an unknown subject, and those of reading the API. */
export async function judgeSubject(
  deps: ExplainDeps,
  rules: readonly LoadedRule[],
  kind: SubjectKind,
  id: string,
): Promise<JudgedSubject> {
  const lookups = boundedLookups(deps.api);
  const record = await readSubject(lookups, deps.reader, kind, id);
  const nowMs = deps.clock.nowMs();
  const { lists } = deps.settings;
  const evaluator = compileRules([...rules], lists);
  const subject = { kind, id: summaryOf(kind, record).id };
  await fillLookBack(deps, evaluator, nowMs, subject);
  const { sources, windowMs } = evaluator.needs;
  const asksForServices = kind === 'service';
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
  const context = { ...view, events: events?.events ?? [], readAtMs, lists, lookBack: evaluator.lookBack };
  const explanations = rules.map((rule) => explain(rule, record, context));
  evaluator.observe(events?.events ?? []);
  const written = fieldsWritten(deps.actions, kind);
  const judge = evaluator.judge(kind, { ...view, fieldsWritten: written, isOpen: () => true });
  judge.accept(record);
  return { id: subject.id, nowMs, record, events, explanations, judgement: judge.finish() };
}

/**
 * What a run over these rules and this one subject would decide now, and the open claims of the rules on it. None of the stored
 * decisions is reconciled, so that every proposal is answered. `sources`: how the lists were last read.
 */
export async function decideNow(
  deps: ExplainDeps,
  rules: readonly LoadedRule[],
  { id, nowMs, record, events, judgement }: JudgedSubject,
  sources: Record<Source, SourceReading>,
): Promise<{ decisions: DecidedNow[]; claims: Claim[] }> {
  const { api, reader, actions, daemonMode, ids, quiet, settings, isWhatIf } = deps;
  const kind = (rules[0] as LoadedRule).subject;
  const setBackMs = (await reader.clockAgreement())?.setBackMs ?? nowMs;
  const lookups = boundedLookups(api);
  const touching = rules.find((rule) => deletesDevices(rule, actions)) ?? (rules[0] as LoadedRule);
  const touched = await readTouched(lookups, touching, record, actions);
  const { decisions: said, ...openState } = await reader.openStateOf(nowMs, {
    kinds: [kind],
    subjects: [id],
    targets: [id, ...[record, ...touched].flatMap((one) => ownText(one, 'SerialNumber') ?? [])],
  });
  const exemptions = new Exemptions(openState.exemptions ?? [], nowMs);
  // A run does not judge by events that it could not read.
  const unjudged = rules.filter(({ sources: read }) => events?.reading.state === 'failed' && read.includes('events'));
  const decided = decide({
    runMode: daemonMode,
    daemonMode,
    nowMs,
    freeze: windowAt(settings.freeze ?? [], nowMs),
    // No steady clock has measured it: the wall clock is enough to explain.
    steady: { nowMs, sinceMs: Number.NEGATIVE_INFINITY, forMs: 0, jumpedMs: nowMs, setBackMs },
    quietMs: quiet.read().ms,
    judged: rules.filter((rule) => rule.mode !== 'off' && !unjudged.includes(rule)),
    unjudged,
    activeRules: rulesById(deps.rules.filter(({ mode }) => mode !== 'off')),
    traits: actions,
    judgements: [judgement],
    sources,
    fleet: fleetOf(touched, actions),
    bundles: needsBundles(
      rules.flatMap(({ then }) => then),
      actions,
    )
      ? await readBundles(api)
      : undefined,
    openState: { ...openState, decisions: [] },
    said: isWhatIf ? [] : said,
    exemptOwners: exemptions.asksForOwnerRecords ? await ownersOf(lookups, touched) : new Map(),
    ids,
    settings: settings.decide,
  });
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  return {
    decisions: decided.decisions.flatMap((one) => {
      const rule = byId.get(one.rule);
      if (one.subject.id !== id || rule === undefined) return [];
      const { action, target, decision, reason, reasonText, verdict, mode, facts, effect } = one;
      const notAsked = checksOfARun(one, rule, actions.get(action));
      return [{ rule: rule.id, action, target, decision, reason, reasonText, verdict, mode, facts, effect, notAsked }];
    }),
    claims: openState.claims.filter(({ rule, subjectId }) => byId.has(rule) && subjectId === id),
  };
}
