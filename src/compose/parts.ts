// The parts of everything that runs rules: the log, the actions and the loaded rules. In: a checked configuration. Out: parts for
// compose.ts and what-if.ts, which add a database and the API.
import { actionsWith } from '../act/actions.ts';
import type { Config } from '../config/config.ts';
import { PLACEHOLDER_SERIALS } from '../decide/serials.ts';
import { EVENT_PULL_DEFAULT } from '../pull/pull-events.ts';
import type { KeptRules } from '../rule-set/last-good-rules.ts';
import { realFolders } from '../rule-set/rule-folders.ts';
import { RuleHolder } from '../rule-set/rule-holder.ts';
import { demandActive, type Engine, type EngineSettings } from '../run/engine.ts';
import { systemClock } from '../system/clock.ts';
import { systemLog } from '../system/log.ts';
import { credentialMark } from './credential-mark.ts';
import type { Place } from './opened.ts';

export interface Parts {
  rules: RuleHolder;
  /** What it leaves to the next holder of this organization's rules; undefined: there is none. */
  kept: KeptRules | undefined;
  /** Of an engine: everything that needs neither a database, whose clock it has, nor the API. */
  common: Pick<Engine, 'log' | 'actions' | 'active' | 'rulesDir' | 'settings' | 'demo' | 'feed'>;
}

/**
 * `place`: an endpoint, and who keeps the last good rules, begin without valid ones: `active` throws then. Errors: AppError `rules`, `usage` for
 * a chosen rule that is not active. It leaves nothing open.
 */
export async function loadParts(config: Config, chosen: readonly string[], place?: Place): Promise<Parts> {
  const { database } = config;
  const organization = database.kind === 'postgres' ? database.organization : undefined;
  const log = systemLog({ ...config.log, organization });
  const webhooks = [...config.notify.webhooks.keys()];
  const actions = actionsWith(webhooks);
  const { part, knownRules, lastGood } = place ?? {};
  const kept =
    organization === undefined ? undefined : lastGood?.of(organization, [config.rulesDir, webhooks, config.lists]);
  const rules = new RuleHolder(config.rulesDir, actions, log, systemClock, config.lists, knownRules, kept);
  if (part === 'endpoint' || kept) await rules.begin();
  else await rules.load();
  if (chosen.length > 0) demandActive(rules.active(), chosen);
  const common: Parts['common'] = {
    log,
    actions,
    active: () => rules.active(),
    rulesDir: realFolders(config.rulesDir),
    settings: settingsOf(config),
    demo: config.api === undefined,
    feed: { primed: new WeakSet(), triedMs: 0 },
  };
  return { rules, kept, common };
}

function settingsOf(config: Config): EngineSettings {
  const { timing, ceilings, attemptsMax, runFailuresMax, actConcurrency, serialDevicesMax, perDayTimes } = config;
  const { quietMs, goneAfterMs, planTtlMs, keepRunsMs, eventOverlapMs, clockSkewMs } = timing;
  const mark = markOf(config);
  return {
    decide: {
      ceilings,
      goneAfterMs,
      serialDevicesMax,
      perDayTimes,
      placeholderSerials: PLACEHOLDER_SERIALS,
      get credential() {
        return mark();
      },
    },
    act: {
      ceilings,
      attemptsMax,
      runFailuresMax,
      concurrency: actConcurrency,
      rereadMs: Math.min(2_000, quietMs),
      get credential() {
        return mark();
      },
    },
    trust: { ...config.trust, skewMs: clockSkewMs },
    events: { ...EVENT_PULL_DEFAULT, overlapMs: eventOverlapMs },
    lists: config.lists,
    quietMs,
    planTtlMs,
    keepRunsMs,
    exemptions: { warnMs: timing.exemptionWarnMs, unusedMs: timing.exemptionUnusedMs },
    freeze: config.windows.freeze,
  };
}

/** Of the credential in force: another one may be there the next time. It is made once for each. */
function markOf(config: Config): () => string | undefined {
  let made: { of: unknown[]; mark: string | undefined } | undefined;
  return () => {
    const of = [config.api?.credential, config.api?.adminToken];
    if (made?.of.every((one, index) => one === of[index])) return made.mark;
    made = { of, mark: credentialMark(config.api) };
    return made.mark;
  };
}
