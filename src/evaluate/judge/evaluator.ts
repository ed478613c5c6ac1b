// evaluate: a rule set → an Evaluator. In: loaded rules. Out: programs by subject kind, event windows, and what must be pulled.
// Compiled once for a rule set; nothing here reads files, time or network, and no code is generated.
import type { TrustEvent } from '../../domain/event.ts';
import type { Lists } from '../../domain/lists.ts';
import type { LookBack } from '../../domain/look-back.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/subjects.ts';
import type { Evaluator, Judge, JudgeContext, Needs, PartJudge } from '../../domain/verdict.ts';
import { underLists } from '../compile/lost-facts.ts';
import { compileProgram, type Program } from '../compile/program.ts';
import { Windows } from '../events/windows.ts';
import type { LoadedRule } from '../language/loaded-rule.ts';
import { portableRules } from '../load/portable-rules.ts';
import { LookBackTracks } from '../look-back/tracks.ts';
import { judgeRecords } from './judge.ts';
import { mergeJudgements } from './judgement-merge.ts';
import { registerTracks, registerWindows } from './judging-frame.ts';

/**
 * Compiles a rule set. All of them are judged, also those of mode `off`: leave out what must not be.
 * The evaluator is pure, except for its event windows and what it knows of the past. `shared`: that of another evaluator of the same rules, or of
 * more. `lists`: where devices and users are read: facts that these lack are unknown.
 */
export function compileRules(rules: readonly LoadedRule[], lists: Lists = 'v1', shared?: LookBack): Evaluator {
  const windows = new Windows();
  const tracks = shared instanceof LookBackTracks ? shared : new LookBackTracks();
  const judged = rules.map((rule) => underLists(rule, lists));
  const programs = Object.fromEntries(
    SUBJECT_KINDS.map((kind) => [kind, compileProgram(judged.filter((rule) => rule.subject === kind))]),
  ) as Record<SubjectKind, Program>;
  const listeners: ((events: readonly TrustEvent[]) => void)[] = [];
  for (const kind of SUBJECT_KINDS) {
    registerWindows(programs[kind], windows);
    registerTracks(kind, programs[kind], tracks);
  }
  return {
    rules,
    lookBack: tracks.paths.size > 0 ? tracks : undefined,
    needs: needsOf(rules),
    observe: (events: readonly TrustEvent[]) => {
      windows.observe(events);
      for (const listener of listeners) listener(events);
    },
    advance: (nowMs: number) => windows.advance(nowMs),
    judge: (kind: SubjectKind, context: JudgeContext): Judge =>
      judgeRecords(kind, programs[kind], windows, { ...context, lookBack: tracks }),
    judgePart: (kind: SubjectKind, context: JudgeContext): PartJudge => {
      const { accept, finishPart } = judgeRecords(
        kind,
        programs[kind],
        windows,
        { ...context, lookBack: tracks },
        Number.POSITIVE_INFINITY,
      );
      return { accept, finish: finishPart };
    },
    merge: (kind: SubjectKind) => mergeJudgements(kind, programs[kind]),
    portable: () => portableRules(rules, lists),
    onObserved: (listener) => {
      listeners.push(listener);
    },
    joinedPaths: (source) => joinedPaths(rules, source),
  };
}

function needsOf(rules: readonly LoadedRule[]): Needs {
  return {
    sources: new Set(rules.flatMap((rule) => rule.sources)),
    unpaged: new Set(rules.flatMap((rule) => [...rule.reads.unpaged])),
    owners: rules.some((rule) => rule.reads.owners),
    devices: rules.some((rule) => rule.reads.joinedDevices),
    windowMs: Math.max(0, ...rules.map((rule) => rule.reads.windowMs)),
  };
}

/** Paths of a joined record that some rule reads, and the key that identifies it. */
function joinedPaths(rules: readonly LoadedRule[], source: 'devices' | 'users'): string[] {
  const paths = new Set(rules.flatMap((rule) => [...rule.reads[source]]));
  const joined = rules.some((rule) => (source === 'users' ? rule.reads.owners : rule.reads.joinedDevices));
  if (joined) paths.add(source === 'users' ? 'Email' : 'SerialNumber');
  return [...paths].sort();
}
