// act: the context of acting: the ports, the actions, the checks, and the settings.
import type { ActStore } from '../domain/act-store.ts';
import type { Action, ActionName, ReadBack } from '../domain/action.ts';
import type { CeilingSettings } from '../domain/ceiling.ts';
import type { WindowNow } from '../domain/change-window.ts';
import type { Ask, TargetFacts } from '../domain/check.ts';
import type { Facts } from '../domain/facts.ts';
import type { Intent } from '../domain/intent.ts';
import type { Mode } from '../domain/mode.ts';
import type { Api, Clock, Ids, Log } from '../domain/ports.ts';
import type { Progress } from '../domain/progress.ts';
import type { QuietTime } from '../domain/quiet-period.ts';
import type { Rule } from '../domain/rule.ts';
import type { SteadyTime } from '../domain/steady-time.ts';
import type { SubjectKind } from '../domain/subjects.ts';
import type { VerdictName } from '../domain/verdict.ts';
import type { RunCounts } from './counts.ts';
import type { Door } from './door.ts';

export interface ActSettings {
  ceilings: CeilingSettings;
  /** Definite failures of one intent before it is parked. */
  attemptsMax: number;
  /** Attempts without a success in one run, failed or doubtful, after which the run stops acting. */
  runFailuresMax: number;
  /** How many targets are acted on at once. */
  concurrency: number;
  /** The time between the two reads that must agree before a retry. */
  rereadMs: number;
  /** A mark of the credential in use. */
  credential?: string | undefined;
}

export type SubjectCounts = Record<SubjectKind, number>;

/** Judges a fresh record by a rule again; undefined for a rule that this run does not judge. */
export type Recheck = (rule: string, record: Facts) => VerdictName | undefined;

export interface ActContext {
  runId: string;
  api: Api;
  store: ActStore;
  clock: Clock;
  steady: SteadyTime;
  /** How long after a doubtful attempt its effect may still appear, or reads may be stale. */
  quiet: QuietTime;
  ids: Ids;
  log: Log;
  actions: ReadonlyMap<ActionName, Action>;
  /** The lower of the run's and the daemon's mode: below `approve`, open intents of earlier runs are not sent again. */
  mode: Mode;
  /** The safety checks; each stage has its list of them. */
  ask: Ask;
  /** The change window in force at this moment; undefined for a plan that a person let through. */
  freezeNow(): WindowNow | undefined;
  /** The current form of a rule; undefined when it is missing or off. */
  ruleNow(rule: string): Rule | undefined;
  /** False for an active rule that this run does not judge: it was not chosen, or one of its sources is unread or untrusted. */
  canJudge(rule: string): boolean;
  recheck: Recheck;
  /** A record as rules see it: no secret is compared, judged or reported. */
  withoutSecrets(record: Facts): Facts;
  /** What protects the target as just read, or what it joined; asked of the store each time. Errors: those of reading the API. */
  exemptionOf(intent: Intent, records: readonly Facts[]): Promise<Pick<TargetFacts, 'exemption' | 'joined'>>;
  /** The number of subjects, for the percentages of ceilings. */
  subjects: SubjectCounts;
  settings: ActSettings;
  /** Through it every call goes. Before the first it asks whether the database is as this engine left it (AppError `store_edited`). */
  door: Door;
  /** What this run has attempted so far: mutable, shared by all that acts in it. */
  counts: RunCounts;
  /** Aborted: nothing new is begun. */
  signal: AbortSignal;
  progress?: Progress | undefined;
}

/** A stored intent may name an action of another version: this version does not read its target or call anything for it. */
export function noSuchAction({ action }: Pick<Intent, 'action'>): string {
  return `this version has no action \`${action}\``;
}

/** A read as rules see it. Only the request uses the records themselves, since it may have to send a whole spec back. */
export function asRulesSee(context: Pick<ActContext, 'withoutSecrets'>, read: ReadBack): ReadBack {
  return { ...read, records: read.records.map((record) => context.withoutSecrets(record)) };
}
