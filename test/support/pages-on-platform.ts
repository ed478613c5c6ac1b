// support: the page over a real engine on the platform in memory: explaining, exempting and releasing are the real ones. In: the engine.
// Out: pages. The clock of the pages never passes a wait by itself.

import type { Parsed } from '../../src/contract/table.ts';
import { explainSubject } from '../../src/engine/explain/judge-subject.ts';
import { historyOfSubject, whyOf, whyStored } from '../../src/engine/explain/why.ts';
import type { LoadedRule } from '../../src/rules/language/loaded-rule.ts';
import { type ActingId, done, shown } from '../../src/runtime/operations/acting.ts';
import type { Over } from './endpoint.ts';
import type { OnPlatform } from './engine-on-platform.ts';
import { openPages } from './pages.ts';

export function pagesOnPlatform(on: OnPlatform, rules: readonly LoadedRule[], over: Over = {}) {
  const { engine, store, clock } = on;
  const explaining = () => ({ ...engine, reader: store, rules, isWhatIf: false });
  const reading = { reader: store, clock };
  const really =
    <Id extends ActingId>(id: Id) =>
    async (input: Parsed<Id>, who: { by: string }) =>
      shown(reading, id, await done({ engine, appliesAtOnce: true }, id, input, who));
  return openPages({
    reader: store,
    clock: { nowMs: () => clock.nowMs(), monotonicMs: () => clock.monotonicMs(), sleep: () => new Promise(() => {}) },
    rules: () => rules,
    why: (of) => whyOf(explaining(), of),
    whyStored: (of, unread) => whyStored(explaining(), of, unread),
    history: (subject, limit) => historyOfSubject(explaining(), subject, limit),
    explain: (rule, subject) => explainSubject(explaining(), rule, subject),
    operating: engine,
    operations: {
      ...{ addExemption: really('addExemption'), releaseClaims: really('releaseClaims') },
      ...{ resumeRollout: really('resumeRollout'), restartRollout: really('restartRollout') },
    },
    ...over,
  });
}
