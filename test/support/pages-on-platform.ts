// support: the page over a real engine on the platform in memory: explaining, exempting and releasing are the real ones. In: the engine.
// Out: pages. The clock of the pages never passes a wait by itself.

import { explainSubject } from '../../src/engine/explain/judge-subject.ts';
import { historyOfSubject, whyOf, whyStored } from '../../src/engine/explain/why.ts';
import { endExemption } from '../../src/engine/operate/commands.ts';
import { confirmJoined, exempt } from '../../src/engine/operate/exempt.ts';
import { releaseClaims } from '../../src/engine/operate/release.ts';
import type { HttpDeps } from '../../src/faces/http/deps.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import type { OnPlatform } from './engine-on-platform.ts';
import { openPages } from './pages.ts';

export function pagesOnPlatform(on: OnPlatform, rules: readonly LoadedRule[], over: Partial<HttpDeps> = {}) {
  const { engine, store, clock } = on;
  const explaining = () => ({ ...engine, reader: store, rules, isWhatIf: false });
  const operator: Partial<HttpDeps['operator']> = {
    exempt: (request, by) => exempt(engine, request, by),
    endExemption: (id, who) => endExemption(engine, id, who),
    confirmJoined: (id, who) => confirmJoined(engine, id, who),
    release: (target, who) => releaseClaims(engine, target, who),
  };
  return openPages({
    reader: store,
    clock: { nowMs: () => clock.nowMs(), monotonicMs: () => clock.monotonicMs(), sleep: () => new Promise(() => {}) },
    rules: () => rules,
    why: (of) => whyOf(explaining(), of),
    whyStored: (of, unread) => whyStored(explaining(), of, unread),
    history: (subject, limit) => historyOfSubject(explaining(), subject, limit),
    explain: (rule, subject) => explainSubject(explaining(), rule, subject),
    operator: operator as HttpDeps['operator'],
    ...over,
  });
}
