// harness: evidence of the actions of simulated lives, and random edits of its bytes. In: seeds, how many. Out: the packs with what they cost, and
// the figures of the edits: each has to be noticed.
import { digestOf } from '../../src/domain/digest.ts';
import type { Intent } from '../../src/domain/intent.ts';
import { linkEntry } from '../../src/engine/audit/signing-key.ts';
import { type PackSources, packEvidence, sealedText } from '../../src/engine/explain/evidence-pack.ts';
import { evidencePage } from '../../src/faces/report/html/evidence.tsx';
import { meaningOfRule } from '../../src/rules/language/loaded-rule.ts';
import { SqlReader } from '../../src/store/reader.ts';
import { SqliteWork } from '../../src/store/sqlite/database.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type Verified, verifyEvidence } from '../../src/verify-evidence.ts';
import { publicPem, signEvidence, signing } from './checkpoints.ts';
import { Dice } from './dice.ts';
import { simulate } from './simulation.ts';

export interface MadePack {
  seed: number;
  intent: Intent;
  text: string;
  verified: Verified;
  madeMs: number;
}

/** One after the other, as JSON and as a page in turn, until there are so many. */
export async function packsOfLives(from: number, wanted: number): Promise<MadePack[]> {
  const packs: MadePack[] = [];
  for (let seed = from; packs.length < wanted && seed < from + wanted; seed++)
    await simulate(seed, {
      async ended({ db, clock, shelf }) {
        const reader = new SqlReader(new SqliteWork(db), clock);
        const rules = [...shelf.seen].filter((rule) => digestOf(meaningOfRule(rule)) === rule.hash);
        const sources: PackSources = {
          by: 'a simulation',
          sign: signEvidence,
          keys: () => publicPem,
          async rule(hash) {
            const rule = rules.find((one) => one.hash === hash);
            return (
              rule && { id: `rule ${rule.id}`, file: rule.file, hash, meaning: meaningOfRule(rule), text: rule.text }
            );
          },
        };
        // Lives without checkpoints have no key.
        if (((await reader.checkpointLines()) ?? []).length === 0) return;
        // As the next start does.
        await new SqliteStore(db, linkEntry, clock, { ...signing, sealed: () => {} }).sealAudit();
        for (const intent of (await reader.intents({})).slice(0, wanted - packs.length)) {
          const began = performance.now();
          const pack = await packEvidence(reader, sources, intent.id, { at: clock.nowMs(), by: sources.by });
          const page = packs.length % 2 === 0 ? undefined : await evidencePage(reader, pack);
          const text = sealedText(pack, sources.sign, page);
          const madeMs = performance.now() - began;
          packs.push({ seed, intent, text, verified: verifyEvidence(Buffer.from(text), publicPem), madeMs });
        }
      },
    });
  return packs;
}

/** Replaces, adds or removes one byte somewhere. Returns how many edits were not noticed, and where. */
export function editBytes(packs: readonly MadePack[], edits: number, seed: number): string[] {
  const dice = new Dice(seed, 'edits');
  const unnoticed: string[] = [];
  for (let edit = 0; edit < edits; edit++) {
    const { text, intent } = packs[edit % packs.length] as MadePack;
    const bytes = Buffer.from(text);
    const [at, how] = [dice.whole(0, bytes.length - 1), dice.pick(['replaced', 'flipped', 'added', 'removed'])];
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(how === 'added' ? at : at + 1)];
    const was = bytes[at] as number;
    const other = how === 'flipped' ? was ^ (1 << dice.whole(0, 7)) : (was + dice.whole(1, 255)) % 256;
    const edited = Buffer.concat([before, how === 'removed' ? Buffer.alloc(0) : Buffer.from([other]), after]);
    if (verifyEvidence(edited, publicPem).ok) unnoticed.push(`byte ${at} of ${intent.id} ${how}`);
  }
  return unnoticed;
}

export function evidenceLine(packs: readonly MadePack[], edits: number, unnoticed: number): string {
  const sizes = packs.map(({ text }) => Buffer.byteLength(text));
  const judged = packs.flatMap(({ verified }) => verified.found.filter((one) => / judged again/.test(one)));
  const not = judged.filter((one) => one.includes('NOT judged')).length;
  const outcomes = new Map<string, number>();
  for (const { intent } of packs) outcomes.set(intent.action, (outcomes.get(intent.action) ?? 0) + 1);
  const acts = [...outcomes].map(([name, count]) => `${count} ${name}`).join(', ');
  const most = Math.max(...packs.map(({ madeMs }) => madeMs));
  return `${packs.length} packs (${acts}), ${judged.length - not} decisions judged again, ${not} not; largest ${Math.round(Math.max(...sizes) / 1_000)} kB, slowest ${Math.round(most)} ms; ${edits} edits, unnoticed ${unnoticed}`;
}
