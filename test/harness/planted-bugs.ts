// harness: bugs planted on purpose, by wrappers around the engine's ports and parts; the checker must find each of them.
// In: the parts of a healthy engine. Out: the parts of a sick one. Nothing in the product knows of these.

import type { Action, ActionName } from '../../src/domain/action.ts';
import type { Claim } from '../../src/domain/episode.ts';
import type { Facts } from '../../src/domain/facts.ts';
import type { Api, WriteAnswer } from '../../src/domain/ports.ts';
import type { SentIntent } from '../../src/domain/store-ports.ts';
import type { Judge } from '../../src/domain/verdict.ts';
import type { ActiveRules, EngineSettings, EngineStore } from '../../src/engine/run/engine.ts';
import { misheard } from './planted-answer-bugs.ts';
import { hasty, unsteered } from './planted-operator-bugs.ts';
import type { Without } from './profile.ts';

/** Each with a seed that has found it: the first to be tried. */
export const PLANTED_BUGS = {
  no_verification: 14,
  call_before_commit: 2,
  blind_retry: 10,
  sent_counts_as_planned: 15,
  sent_is_forgotten: 1,
  server_error_is_success: 13,
  other_claims_are_skipped: 3,
  override_is_forgotten: 11,
  reversal_of_one_rule_alone: 18,
  unknown_is_trouble: 6,
  unknown_is_clear: 13,
  ceiling_is_ignored: 20,
  outcome_is_lost: 10,
  claim_is_lost: 11,
  filter_is_unverified: 1,
  dry_run_acts: 11,
  trust_is_ignored: 41,
  quiet_period_is_skipped: 10,
  latency_is_ignored: 101,
  latency_is_not_kept: 514,
  gate_is_always_live: 1,
  quiet_period_by_wall_clock: 252,
  stop_is_ignored: 15,
  exemption_is_ignored: 4,
  irreversible_without_approval: 10,
  update_without_approval: 16,
  restore_is_not_stopped: 12,
  unreadable_is_not_done: 12,
  reload_is_ignored: 20,
  checkpoint_is_not_written: 2,
  checkpoint_is_not_compared: 1,
  edited_rows_are_obeyed: 10,
  strange_end_is_obeyed: 27,
  replaced_file_is_not_noticed: 60,
  lost_checkpoints_are_not_noticed: 1,
  part_is_everything: 10,
  rest_is_lost: 10,
  what_joined_is_covered: 5,
  serial_number_has_a_case: 65,
  refusals_are_repeated: 166,
  one_owner_is_called_twice_at_once: 5,
  ceiling_is_counted_after_the_call: 117,
  look_counts_alone: 365,
  look_has_a_ceiling_of_its_own: 12,
  look_rests_on_an_untrusted_run: 177,
  look_rests_on_a_run_long_past: 48,
  look_ends_an_episode: 12,
  deadline_is_ignored: 20,
  message_in_doubt_is_sent_again: 10,
  guards_are_ignored: 18,
  retry_forgets_guards: 146,
  last_device_is_free: 67,
  day_has_no_bound: 18,
  share_is_ignored: 16,
  own_undo_brakes: 256,
  check_has_no_memory: 10,
} as const;
export type SeededBug = keyof typeof PLANTED_BUGS;
/** Found in a life from before there was more in it. */
export const FOUND_WITHOUT: { readonly [name in Without]?: readonly SeededBug[] } = {
  warnings: [
    'sent_is_forgotten',
    'unknown_is_trouble',
    'latency_is_not_kept',
    'exemption_is_ignored',
    'update_without_approval',
    'what_joined_is_covered',
    'look_has_a_ceiling_of_its_own',
    'look_rests_on_an_untrusted_run',
  ],
  reversals: ['sent_counts_as_planned', 'reload_is_ignored', 'refusals_are_repeated', 'look_counts_alone'],
  looks: ['unknown_is_clear', 'latency_is_ignored', 'quiet_period_by_wall_clock'],
  concurrency: ['trust_is_ignored'],
  slowness: ['no_verification', 'restore_is_not_stopped', 'unreadable_is_not_done'],
};

/** No life shows the last one: a scenario does (acceptance.test.ts). */
export type PlantedBug = SeededBug | 'acceptance_stays';

/** The port with some of its methods replaced. */
export function replaced<Port extends object>(port: Port, methods: Partial<Port>): Port {
  return new Proxy(port, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return (methods as Record<PropertyKey, unknown>)[name];
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export function sickApi(api: Api, bug: PlantedBug | undefined): Api {
  const everywhere = (change: (send: () => Promise<WriteAnswer>) => Promise<WriteAnswer>) =>
    replaced(api, {
      updateDevices: (serial, devices) => change(() => api.updateDevices(serial, devices)),
      enableService: (id) => change(() => api.enableService(id)),
      disableService: (id) => change(() => api.disableService(id)),
    });
  switch (bug) {
    case 'blind_retry':
      return everywhere(async (send) => {
        const answer = await send();
        return answer.kind === 'doubtful' ? send() : answer;
      });
    case 'server_error_is_success':
      return everywhere(async (send) => {
        const answer = await send();
        return answer.status === 500 ? { kind: 'done', status: 200, text: 'Success' } : answer;
      });
    case 'filter_is_unverified':
      return replaced(api, { devicesOfSerial: () => allDevices(api) });
    case 'trust_is_ignored':
      return replaced(api, { pages: (source) => untilBroken(api.pages(source)) });
    default:
      return api;
  }
}

async function allDevices(api: Api): Promise<Facts[]> {
  const all: Facts[] = [];
  for await (const { records } of api.pages('devices')) all.push(...(records as Facts[]));
  return all;
}

/** Treats what came before a list broke as the whole list. */
async function* untilBroken<T>(items: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* items;
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'api_answer') throw error;
  }
}

export function sickStore(store: EngineStore, bug: PlantedBug | undefined): EngineStore {
  switch (bug) {
    case 'call_before_commit':
      return commitsLate(store);
    case 'sent_counts_as_planned':
      return replaced(store, {
        intentsIn: async (state) => {
          const found = await store.intentsIn(state);
          return state === 'planned' ? [...found, ...(await store.intentsIn('sent'))] : found;
        },
      });
    case 'sent_is_forgotten':
      return replaced(store, {
        intentsIn: async (state) => (state === 'sent' ? [] : store.intentsIn(state)),
      });
    case 'other_claims_are_skipped':
      return claimingOnce(store);
    case 'override_is_forgotten':
      return replaced(store, {
        commitRun: (commit) =>
          store.commitRun({
            ...commit,
            episodes: commit.episodes.map((episode) =>
              episode.overriddenAt === undefined || episode.state === 'closed'
                ? episode
                : {
                    ...episode,
                    overriddenAt: undefined,
                    state: 'closed',
                    closedAt: episode.stateSince,
                    closeReason: 'cleared',
                  },
            ),
          }),
      });
    case 'reversal_of_one_rule_alone':
      return replaced(store, {
        commitRun: async (commit) => {
          // What is carried out are the same objects, and the next rule is to act in a later run.
          const { episodes } = await store.openState(0);
          const before = new Map(episodes.map((one) => [one.id, one.overriddenAt]));
          const told = new Set<string>();
          for (const episode of commit.episodes) {
            const { id } = episode.subject;
            if (episode.overriddenAt === undefined || before.get(episode.id) !== undefined) continue;
            if (told.has(id)) Object.assign(episode, { overriddenAt: undefined });
            told.add(id);
          }
          await store.commitRun(commit);
        },
      });
    case 'gate_is_always_live':
      return replaced(store, {
        commitRun: async (commit) => {
          // What is carried out are the same objects.
          for (const intent of commit.intents) if (intent.outcome === 'dry_run') Object.assign(intent, LIVE);
          await store.commitRun(commit);
        },
      });
    case 'edited_rows_are_obeyed':
      return replaced(store, { demandIntact: async () => {} });
    case 'outcome_is_lost':
      return replaced(store, {
        settle: async (given) => {
          if (given.outcome !== 'succeeded') await store.settle(given);
        },
      });
    case 'claim_is_lost':
      return replaced(store, {
        settle: ({ claims = [], ...given }) =>
          store.settle({ ...given, claims: claims.filter(({ status }) => status !== 'standing') }),
      });
    default:
      return unsteered(misheard(store, bug), bug);
  }
}

/** As the gate opens it when it asks for no mode. */
const LIVE = { status: 'planned', outcome: undefined, settledAt: undefined } as const;

/** As if only the latest claim on a target counted: the others are ignored, and none is made beside an existing one. */
function claimingOnce(store: EngineStore): EngineStore {
  return replaced(store, {
    openState: async (nowMs) => {
      const found = await store.openState(nowMs);
      return { ...found, claims: oneForEachTarget(found.claims) };
    },
    openClaimsOn: async (target) => (await store.openClaimsOn(target)).slice(-1),
    commitRun: (commit) =>
      store.commitRun({ ...commit, claims: commit.claims.filter(({ endedAt }) => endedAt !== undefined) }),
  });
}

function oneForEachTarget(claims: readonly Claim[]): Claim[] {
  return [...new Map(claims.map((claim) => [claim.target, claim])).values()];
}

/** Holds each `sent` back until whatever comes next. */
function commitsLate(store: EngineStore): EngineStore {
  let held: SentIntent | undefined;
  const release = async () => {
    const before = held;
    held = undefined;
    if (before) await store.markSent(before);
  };
  return replaced(store, {
    markSent: async (given) => {
      await release();
      held = given;
    },
    settle: async (given) => {
      await release();
      await store.settle(given);
    },
    withdraw: async (given) => {
      await release();
      await store.withdraw(given);
    },
  });
}

export function sickActions(
  actions: ReadonlyMap<ActionName, Action>,
  bug: PlantedBug | undefined,
): ReadonlyMap<ActionName, Action> {
  switch (bug) {
    case 'no_verification':
      return new Map([...actions].map(([name, action]) => [name, believing(action)]));
    case 'irreversible_without_approval':
    case 'update_without_approval':
    case 'unreadable_is_not_done':
      return new Map([...actions].map(([name, action]) => [name, hasty(action, bug)]));
    default:
      return actions;
  }
}

/** Treats an answered call as done, without reading back. */
function believing(action: Action): Action {
  const done = new Set<string>();
  return {
    ...action,
    readBack: async (...given) => {
      const [, target] = given;
      const back = await action.readBack(...given);
      return done.delete(target) ? { ...back, state: 'as_intended' } : back;
    },
    perform: async (...given) => {
      const [, target] = given;
      const answer = await action.perform(...given);
      if (answer.kind === 'done') done.add(target);
      return answer;
    },
  };
}

export function sickSettings(settings: EngineSettings, bug: PlantedBug | undefined): EngineSettings {
  const unbound = { run: { max: 10_000, percent: 100 }, day: { max: 10_000, percent: 100 } };
  switch (bug) {
    case 'ceiling_is_ignored':
      return {
        ...settings,
        decide: { ...settings.decide, ceilings: unbound },
        act: { ...settings.act, ceilings: unbound },
      };
    case 'quiet_period_is_skipped':
      return { ...settings, act: { ...settings.act, rereadMs: 0 } };
    case 'trust_is_ignored':
      return { ...settings, trust: { ...settings.trust, shrunkPercent: 100, unreadablePercent: 100 } };
    default:
      return settings;
  }
}

export function sickRules(active: ActiveRules, bug: PlantedBug | undefined): ActiveRules {
  if (bug !== 'unknown_is_trouble' && bug !== 'unknown_is_clear') return active;
  const value = bug === 'unknown_is_trouble' ? 'TRUE' : 'FALSE';
  const evaluator = replaced(active.evaluator, {
    judge: (kind, context) => assuming(active.evaluator.judge(kind, context), value),
  });
  return { ...active, evaluator };
}

/** Fills in hidden facts. */
function assuming(judge: Judge, value: string): Judge {
  return {
    accept: (record) => {
      const told = record.MdmData as Facts | undefined;
      judge.accept(
        told
          ? { ...record, MdmData: { CompromisedStatus: value, Second: value, Third: value, Fourth: value, ...told } }
          : record,
      );
    },
    finish: () => judge.finish(),
  };
}
