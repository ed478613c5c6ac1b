// harness: judges a life in which `guards.yaml` begins to ask a person about every device while it runs: from then on nothing is called on one without a
// person's yes, and retries are no exception. In: a request, its intent. Out: violations. It also plants the bugs that it finds.
import type { Guards } from '../../src/domain/guards.ts';
import type { Intent } from '../../src/domain/intent.ts';
import type { EngineStore } from '../../src/engine/run/engine.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import type { Checker } from './checker.ts';
import { replaced } from './planted-bugs.ts';
import type { PlatformRequest } from './platform.ts';
import type { Profile } from './profile.ts';
import type { SimClock } from './sim-clock.ts';

export type GuardBug = 'guards_are_ignored' | 'retry_forgets_guards';

const ASKING: Guards & { files: [] } = {
  ask: [{ selector: { kind: 'device', field: 'Platform', value: 'macOS' }, reason: undefined }],
  lastDevice: false,
  perDay: undefined,
  files: [],
};

const BEGIN_AFTER_MS = 60_000;
/** A call that was asked about before may still be under way. */
const UNDER_WAY_MS = 10_000;

/** In force from a while after the first look on, until the life settles. */
export function areGuarded({ guards }: Pick<Profile, 'guards'>, { trueMs }: Pick<SimClock, 'trueMs'>): boolean {
  if (!guards) return false;
  guards.fromMs ??= trueMs + BEGIN_AFTER_MS;
  return trueMs >= guards.fromMs;
}

export function withGuards(
  rules: readonly LoadedRule[],
  { guards }: Pick<Profile, 'guards'>,
  areThere: boolean,
): readonly LoadedRule[] {
  if (!areThere || guards?.bug === 'guards_are_ignored') return rules;
  return rules.map((rule) => ({ ...rule, guards: ASKING }));
}

/** What is in doubt looks as if a person had approved it. */
export function forgettingGuards(store: EngineStore, { guards }: Pick<Profile, 'guards'>): EngineStore {
  if (guards?.bug !== 'retry_forgets_guards') return store;
  return replaced(store, {
    intentsIn: async (state) => {
      const found = await store.intentsIn(state);
      return state === 'unknown' ? found.map((one) => ({ ...one, approved: true })) : found;
    },
  });
}

export function checkGuards(checker: Checker, { target }: PlatformRequest, intent: Intent): void {
  const { clock, profile } = checker;
  const { guards } = profile;
  if (guards?.fromMs === undefined || clock.trueMs < guards.fromMs + UNDER_WAY_MS) return;
  if (intent.undo || intent.approved || intent.effect.devices.length === 0) return;
  checker.report('unasked', `${intent.action} ${target}: \`guards.yaml\` asks a person about it, and nobody said yes`);
}
