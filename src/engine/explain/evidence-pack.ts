// explain: the evidence of a plan, an intent or a subject, as one file: what was decided by which rule over which facts, who said yes, what was
// called, and what proves each entry. In: a name, the store, the rules as they were, the key's signature. Out: the parts, and the text of the file.
// It reads only. What the file means to whoever verifies it: docs/evidence.md.

import { canonicalJson, plainJson } from '../../base/json.ts';
import { AUDIT_KINDS, type AuditEntry, entryBody } from '../../domain/audit-entry.ts';
import { treePath, treeRoot } from '../../domain/checkpoint.ts';
import { digestOf } from '../../domain/digest.ts';
import { AppError } from '../../domain/errors.ts';
import type { EvidencePack, ProvenEntry, RuleAsItWas } from '../../domain/evidence.ts';
import { demandOne, type IdentityReader, resolveName } from '../../domain/identity.ts';
import type { Intent } from '../../domain/intent.ts';
import { type Plan, sealedContent } from '../../domain/plan.ts';
import type { AuditReader, AuditSeal, RecordReader } from '../../domain/store-ports.ts';

export type PackReader = Pick<RecordReader, 'plan' | 'planAt' | 'intents' | 'decisions' | 'newestIntents'> &
  Pick<AuditReader, 'audit' | 'auditNaming' | 'auditSeal'> &
  IdentityReader;

/** What is kept beside the store. */
export interface PackSources {
  /** Undefined: its text was not kept. */
  rule(hash: string, runId: string | undefined): Promise<RuleAsItWas | undefined>;
  /** Errors: AppError `config` when the key cannot be read. */
  sign(text: string): string;
  /** Which version of what makes it. */
  by: string;
  /** PEM. */
  keys(): string;
}

/** So many intents and decisions at most: the file stays one that people read. */
export const ACTIONS_MAX = 100;
const PAGE = 1_000;
/** Pages of entries about one target, in which what is wanted is looked for. */
const PAGES_MAX = 50;
const RUNS_NEAR = 20;

const PLAN_KINDS = AUDIT_KINDS.filter((kind) => kind.startsWith('plan.'));

interface Wanted {
  about: EvidencePack['about'];
  plans: Set<string>;
  intents: Map<string, Pick<Intent, 'target'>>;
  /** By id: the target. */
  decisions: Map<string, string>;
  left: string[];
}

/**
 * Errors: AppError `not_found` (nothing has this name, or its entries are archived), `usage` (several have it), `conflict` (not sealed yet, or by an
 * older version), those of the store and of `sources`.
 */
export async function packEvidence(
  reader: PackReader,
  sources: PackSources,
  name: string,
  made: EvidencePack['made'],
): Promise<EvidencePack> {
  const wanted = await wantedBy(reader, name);
  const entries = await entriesOf(reader, wanted);
  if (entries.length === 0)
    throw new AppError('not_found', `no entry of the audit is about \`${name}\` any longer: look in the archive`);
  const { proven, checkpoints } = await prove(reader, entries);
  const rules = new Map<string, RuleAsItWas>();
  for (const body of entries.filter(({ kind }) => kind === 'decision.made').map(entryBody)) {
    const [hash, run] = [String(body.ruleHash), typeof body.run === 'string' ? body.run : undefined];
    const rule = rules.has(hash) ? undefined : await sources.rule(hash, run);
    if (rule) rules.set(hash, { ...rule, meaning: plainJson(rule.meaning) as object });
    else if (!rules.has(hash))
      wanted.left.push(`The text of rule \`${body.rule}\` as it was then is not kept: its digest is in the entry.`);
  }
  return {
    format: 'trustward-evidence/1',
    about: wanted.about,
    checkpoints,
    entries: proven,
    keys: [sources.keys()],
    left: [...new Set(wanted.left)],
    made,
    plans: await plansAnswered(reader, entries, wanted),
    rules: [...rules.values()],
  };
}

/** The contents that somebody said yes to, as their digests cover them. */
async function plansAnswered(reader: PackReader, entries: readonly AuditEntry[], { left }: Wanted) {
  const plans: EvidencePack['plans'] = [];
  for (const { plan: id, digest } of entries.filter(({ kind }) => kind === 'plan.approved').map(entryBody)) {
    const plan = await reader.planAt(String(id), String(digest));
    const meaning = plan && plan.intents.length <= ACTIONS_MAX ? plainJson(sealedContent(plan.intents)) : undefined;
    if (digestOf(meaning ?? []) === digest)
      plans.push({ hash: String(digest), id: `plan ${id}`, meaning: meaning as object });
    else left.push(`The content of plan ${id}, which the digest ${digest} covers, is not in it.`);
  }
  return plans;
}

/** `page`: the page that holds the JSON that it is given. The signature covers all else of the text. */
export function sealedText(pack: EvidencePack, sign: PackSources['sign'], page?: (json: string) => string): string {
  const json = canonicalJson({ ...pack, signature: '' }).replaceAll('<', '\\u003c');
  const text = page ? page(json) : `${json}\n`;
  const at = text.indexOf(json) + json.length - 2;
  return text.slice(0, at) + sign(text) + text.slice(at);
}

async function wantedBy(reader: PackReader, name: string): Promise<Wanted> {
  const none = { plans: new Set<string>(), intents: new Map(), decisions: new Map<string, string>(), left: [] };
  const [intent] = await reader.intents({ ids: [name] });
  if (intent) {
    const text = `${intent.action} ${intent.target}`;
    const wanted: Wanted = { ...none, about: { kind: 'intent', id: intent.id, text } };
    addIntents(wanted, [intent]);
    return wanted;
  }
  const plan = /^[0-9a-z]{6,26}$/i.test(name) ? await reader.plan(name) : undefined;
  return plan ? wantedOfPlan(reader, plan, none) : wantedOfSubject(reader, name, none);
}

function addIntents(wanted: Wanted, intents: readonly Intent[]): void {
  if (intents.length > ACTIONS_MAX)
    wanted.left.push(`Of ${intents.length} actions ${ACTIONS_MAX} are in it: ask for the others by their ids.`);
  for (const { id, target, planId, basis } of intents.slice(0, ACTIONS_MAX)) {
    wanted.intents.set(id, { target });
    if (planId !== undefined) wanted.plans.add(planId);
    for (const { decisionId } of basis) wanted.decisions.set(decisionId, target);
  }
}

type Nothing = Omit<Wanted, 'about'>;

async function wantedOfPlan(reader: PackReader, plan: Plan, none: Nothing): Promise<Wanted> {
  const text = `plan of ${plan.intents.length} actions`;
  const wanted: Wanted = { ...none, about: { kind: 'plan', id: plan.id, text } };
  wanted.plans.add(plan.id);
  const begun = await reader.auditNaming(['plan.applying', 'intent.planned'], plan.id);
  const ids = begun
    .map(entryBody)
    .flatMap(({ plan: of, intent, intents }) => (of === plan.id ? [intent, intents].flat() : []));
  const texts = [...new Set(ids.filter((id) => typeof id === 'string'))];
  addIntents(wanted, texts.length === 0 ? [] : await reader.intents({ ids: texts }));
  for (const { target, basis } of plan.intents.slice(0, ACTIONS_MAX))
    for (const { decisionId } of basis) wanted.decisions.set(decisionId, target);
  if (plan.intents.length > ACTIONS_MAX)
    wanted.left.push(`Of ${plan.intents.length} actions that are planned ${ACTIONS_MAX} are in it.`);
  return wanted;
}

async function wantedOfSubject(reader: PackReader, name: string, none: Nothing): Promise<Wanted> {
  const subject = demandOne(await resolveName(reader, name), name).subjects[0];
  const decisions = await reader.decisions({ subjectIds: [subject.id], limit: ACTIONS_MAX });
  const wanted: Wanted = { ...none, about: { kind: 'subject', id: subject.id, text: subject.name ?? subject.id } };
  if (decisions.length === ACTIONS_MAX) wanted.left.push(`Only the newest ${ACTIONS_MAX} decisions are in it.`);
  for (const target of new Set(decisions.map((one) => one.target))) {
    const { rows } = await reader.newestIntents({ target }, ACTIONS_MAX);
    addIntents(
      wanted,
      rows.filter(({ basis }) => basis.some(({ subjectId }) => subjectId === subject.id)),
    );
  }
  for (const { id, target } of decisions) wanted.decisions.set(id, target);
  return wanted;
}

async function entriesOf(reader: PackReader, wanted: Wanted): Promise<AuditEntry[]> {
  const found = new Map<number, AuditEntry>();
  const add = (entries: readonly AuditEntry[]) => {
    for (const entry of entries) found.set(entry.seq, entry);
  };
  const targets = new Set([...[...wanted.intents.values()].map(({ target }) => target), ...wanted.decisions.values()]);
  for (const target of targets) add(await entriesAbout(reader, wanted, target));
  for (const plan of wanted.plans) add(await planEntries(reader, plan));
  // By its run, the newest entry of a decision.
  const runs = new Map(
    [...found.values()].flatMap((one) => (one.kind === 'decision.made' ? [[entryBody(one).run, one.seq]] : [])),
  );
  for (const [run, seq] of runs) {
    if (typeof run !== 'string') continue;
    // The runs that began last before it: hardly any other one begins while it is under way, and there are hundreds of thousands.
    const near = await reader.audit({ kind: 'run.started', beforeSeq: seq, limit: RUNS_NEAR });
    const began = near.find((one) => entryBody(one).run === run);
    add(began ? [began] : (await reader.auditNaming(['run.started'], run)).slice(0, 1));
  }
  return [...found.values()].sort((one, other) => one.seq - other.seq);
}

/** From the newest on, until all decisions that are wanted are found: what was done about them is newer. */
async function entriesAbout(reader: PackReader, wanted: Wanted, target: string): Promise<AuditEntry[]> {
  const missing = new Set([...wanted.decisions].flatMap(([id, of]) => (of === target ? [id] : [])));
  for (const [id, of] of wanted.intents) if (of.target === target) missing.add(id);
  const found: AuditEntry[] = [];
  let beforeSeq: number | undefined;
  for (let page = 0; page < PAGES_MAX && missing.size > 0; page++) {
    const entries = await reader.audit({ target, limit: PAGE, ...(beforeSeq !== undefined && { beforeSeq }) });
    for (const entry of entries) {
      const { intent, decision } = entryBody(entry);
      if (
        wanted.intents.has(String(intent)) ||
        (entry.kind === 'decision.made' && wanted.decisions.has(String(decision)))
      )
        found.push(entry);
      if (entry.kind === 'decision.made') missing.delete(String(decision));
    }
    beforeSeq = entries.at(-1)?.seq;
    if (entries.length < PAGE) break;
  }
  return found;
}

/** Of how runs carried it on, only what gave it the content that somebody answered. */
async function planEntries(reader: PackReader, id: string): Promise<AuditEntry[]> {
  const own = (await reader.auditNaming(PLAN_KINDS, id)).filter((entry) => entryBody(entry).plan === id);
  const answered = new Set(
    own.flatMap((entry) => (/agreed|approved|rejected/.test(entry.kind) ? [entryBody(entry).digest] : [])),
  );
  const kept = own.filter((entry) => entry.kind !== 'plan.carried' || answered.has(entryBody(entry).digest));
  const wholes = new Set(own.flatMap((entry) => entryBody(entry).partOf ?? []));
  for (const whole of wholes)
    kept.push(
      ...(await reader.auditNaming(['plan.sealed'], String(whole))).filter((one) => entryBody(one).plan === whole),
    );
  return kept;
}

async function prove(reader: PackReader, entries: readonly AuditEntry[]) {
  const seals: AuditSeal[] = [];
  const proven: ProvenEntry[] = [];
  for (const { seq, prev, bytes } of entries) {
    const seal = seals.find(({ after, size }) => after < seq && seq <= size) ?? (await reader.auditSeal(seq));
    if (!seal) throw new AppError('conflict', `entry ${seq} is not sealed yet: ask again when the next run has ended`);
    const { root } = JSON.parse(seal.line) as { root?: string };
    if (root === undefined || treeRoot(seal.hashes) !== root) throw new AppError('conflict', unprovable(seq, root));
    if (!seals.includes(seal)) seals.push(seal);
    proven.push({ seq, prev, bytes, path: treePath(seal.hashes, seq - seal.after - 1), size: seal.size });
  }
  return { proven, checkpoints: seals.map(({ line }) => line) };
}

function unprovable(seq: number, root: string | undefined): string {
  return root === undefined
    ? `entry ${seq} was sealed by a version that sealed no single entries: prove it with \`trustward audit export\``
    : `the entries beside entry ${seq} are not those that were sealed: check the record with \`trustward audit verify\``;
}
