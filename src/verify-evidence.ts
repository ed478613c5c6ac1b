#!/usr/bin/env node
// Verifies a file of `trustward evidence`, offline: `node verify-evidence.js FILE [--key PUBLIC-KEY]`. It is one file that imports only what Node has,
// so that an auditor can read all of it. What the file holds, and what proves what: docs/evidence.md. It never says yes to what it did not check:
// a condition that it cannot evaluate is named as not judged again.

import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Body = { [name: string]: Json };
/** `problems`: what is wrong, each as a sentence. `found`: the rest, for people. */
export type Verified = { ok: boolean; problems: string[]; found: string[] };

const sha256 = (...parts: (string | Uint8Array)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');

/** One text for one value: names sorted by code unit, no white space. In the file `<` is written as an escape, so that a page can hold it. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort((a, b) => (a < b ? -1 : 1));
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Json)}`).join(',')}}`;
}

// The condition of a rule over the facts as they were seen, in three values: true, false, and UNKNOWN for a fact that was not known.
const UNKNOWN = Symbol('unknown');
type Value = Json | bigint | typeof UNKNOWN | Value[];
class NotJudged extends Error {}

const LEVELS = ['AlwaysDeny', 'Low', 'Medium', 'High', 'AlwaysAllow'];
const UNITS: { [unit: string]: number } = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };
/** Facts that look back are in the record as the value that was counted. */
const COUNTED = /^(event_(count|distinct)|signal_count|(since_)?last_[a-z]+|previous|changed_within|unchanged_for)$/;

class Judge {
  constructor(
    readonly facts: Body,
    readonly rule: Body,
    readonly asOf: number,
    readonly text = canonical(rule),
  ) {}

  truth(written: Json): boolean | typeof UNKNOWN {
    const value = this.value(written);
    if (value === true || value === false || value === UNKNOWN) return value;
    throw new NotJudged(`a condition that is neither true nor false: ${JSON.stringify(value)}`);
  }

  value(written: Json): Value {
    if (Array.isArray(written)) return written.map((one) => this.value(one));
    if (typeof written !== 'object' || written === null) return written;
    const [name = '', ...others] = Object.keys(written);
    if (others.length > 0) throw new NotJudged('something that is no operator');
    const args = [written[name] as Json].flat();
    if (name === 'var') return this.fact(args);
    if (COUNTED.test(name)) return this.counted(name);
    if (name === 'and' || name === 'or') {
      const all = args.map((arg) => this.truth(arg));
      return all.includes(name === 'or') ? name === 'or' : all.includes(UNKNOWN) ? UNKNOWN : name === 'and';
    }
    if (name === '!' || name === '!!') {
      const one = this.truth(args[0] as Json);
      return one === UNKNOWN ? one : one === (name === '!!');
    }
    const operator = OPERATORS.get(name);
    if (!operator) throw new NotJudged(`the operator \`${name}\``);
    const operands = args.map((arg) => this.value(arg));
    if (name === 'in_group' && args.length === 1) operands.unshift(this.fact(['Groups']));
    return operands.includes(UNKNOWN) ? UNKNOWN : operator(operands as never, this.asOf);
  }

  private fact([path, fallback]: Json[]): Value {
    if (typeof path !== 'string') throw new NotJudged('a field that is not written out');
    if (path === '$now') return BigInt(this.asOf) * 1_000_000n;
    if (path.startsWith('$lists.')) return ((this.rule.$lists ?? {}) as Body)[path.slice(7)] as Json;
    if (/^(\$owners|\$devices)?$/.test(path)) throw new NotJudged(`\`${path}\`, whose records are not in the file`);
    const isTwice = this.text.includes(`{"var":["${path}",`) && this.text.includes(`{"var":"${path}"}`);
    if (isTwice || fallback === null) throw new NotJudged(`\`${path}\`, which the rule reads in two ways`);
    return this.seen(path);
  }

  private counted(name: string): Value {
    const labels = Object.keys(this.facts).filter((one) => one.startsWith(`${name}(`));
    if (labels.length > 1 || this.text.split(`"${name}":`).length > 2) throw new NotJudged(`several \`${name}\``);
    return labels[0] === undefined ? UNKNOWN : this.seen(labels[0]);
  }

  private seen(label: string): Value {
    if (!Object.hasOwn(this.facts, label)) return UNKNOWN;
    const value = this.facts[label] as Json;
    if (/\[dropped|"… and \d+ more"/.test(JSON.stringify(value)))
      throw new NotJudged(`\`${label}\`, which is not kept in full`);
    return value;
  }
}

/** Integers that JSON cannot hold exactly are texts of digits. */
function exact(value: Value): number | bigint | string | boolean {
  if (typeof value === 'string' && /^-?\d{16,20}$/.test(value)) return BigInt(value);
  if (typeof value === 'object' || typeof value === 'symbol') throw new NotJudged('a comparison of lists or records');
  return value;
}

/** How many seconds ago. 0 was never set; the unit follows from the size. */
function ageOf(time: number, asOf: number): Value {
  if (!(time >= 1e8 && time < 1e20)) return UNKNOWN;
  const ms = time < 1e11 ? time * 1e3 : time < 1e14 ? time : time < 1e17 ? time / 1e3 : Math.round(time / 1e3) / 1e3;
  return ms > asOf + 86_400_000 ? UNKNOWN : (asOf - ms) / 1_000;
}

function isIn(needle: Value, hay: Value): Value {
  if (typeof hay === 'string') return hay.includes(String(needle));
  if (!Array.isArray(hay)) throw new NotJudged('`in` of something that is no list');
  return (hay as Value[]).includes(needle) ? true : (hay as Value[]).includes(UNKNOWN) ? UNKNOWN : false;
}

const groupsIn = (value: Value) => (typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value);
const isWord = (value: unknown) => typeof value === 'string' || typeof value === 'boolean';
type Test = (a: number, b: number) => boolean;
function compared(test: Test): (args: Value[]) => Value {
  const pair = (left: Value, right: Value): boolean => {
    let [a, b] = [exact(left), exact(right)];
    // A duration stands beside a number of seconds, and nowhere else.
    if (typeof a === 'number' && typeof b === 'string') b = seconds(b);
    if (typeof b === 'number' && typeof a === 'string') a = seconds(a);
    const [x, y] = [Number(a), Number(b)];
    if (isWord(a) !== isWord(b) || (Math.min(x, y) > 1e11 && Math.max(x, y) > 100 * Math.min(x, y)))
      throw new NotJudged('a comparison of two kinds of values');
    return test(a as number, b as number);
  };
  return (args) => args.slice(1).every((right, at) => pair(args[at] as Value, right));
}

function seconds(text: string): number {
  const [, count, unit] = /^\s*(\d+(?:\.\d+)?)(ms|s|m|h|d|w)\s*$/.exec(text) ?? [];
  if (unit === undefined) throw new NotJudged(`\`${text}\` beside a number`);
  return Number(count) * (UNITS[unit] as number);
}

function ordered(placeOf: (text: string) => number[] | undefined, test: Test): (args: Value[]) => Value {
  return ([first, second]) => {
    const [a, b] = [placeOf(String(first)), placeOf(String(second))];
    if (!a || !b) return UNKNOWN;
    const at = a.findIndex((one, index) => one !== b[index]);
    return at < 0 ? test(0, 0) : test(a[at] as number, b[at] as number);
  };
}

function versionOf(text: string): number[] | undefined {
  if (/\d-|\+/.test(text)) throw new NotJudged(`the version \`${text}\``);
  const [, ...parts] = /(?:^|\D)(\d{1,16})(?:\.(\d{1,16}))?(?:\.(\d{1,16}))?(?:$|\D)/.exec(text) ?? [];
  return parts.length === 0 ? undefined : parts.map((part) => Number(part ?? 0));
}

const levelOf = (text: string) => (LEVELS.includes(text) ? [LEVELS.indexOf(text)] : undefined);
const TESTS: [string, string, Test][] = [
  ['<', 'lt', (a, b) => a < b],
  ['<=', 'lte', (a, b) => a <= b],
  ['>', 'gt', (a, b) => a > b],
  ['>=', 'gte', (a, b) => a >= b],
];
const same: Test = (a, b) => a === b || !(isWord(a) || a < b || a > b);
const OPERATORS = new Map<string, (args: never, asOf: number) => Value>([
  ...['==', '==='].map((name) => [name, compared(same)] as const),
  ...['!=', '!=='].map((name) => [name, compared((a, b) => !same(a, b))] as const),
  ...TESTS.map(([sign, , test]) => [sign, compared(test)] as const),
  ...TESTS.map(([, word, test]) => [`version_${word}`, ordered(versionOf, test)] as const),
  ...TESTS.map(([, word, test]) => [`level_${word}`, ordered(levelOf, test)] as const),
  ['in', ([needle, hay]: [Value, Value]) => isIn(needle, hay)],
  ['in_group', ([groups, name]: [Value, string]) => isIn(name.trim(), groupsIn(groups))],
  ['starts_with', ([text, part]: [string, string]) => text.startsWith(part)],
  ['ends_with', ([text, part]: [string, string]) => text.endsWith(part)],
  ['age', ([time]: [Value], asOf: number) => ageOf(Number(exact(time)), asOf)],
]);

// What the file claims, and whether its signatures, its audit entries and its rules bear it out.
/** The public keys of a text of PEM blocks, by their ids. */
function keysOf(pem: string): Map<string, KeyObject> {
  const keys = (pem.match(/-+BEGIN PUBLIC KEY-+[^-]+-+END[^-]+-+/g) ?? []).map((one) => createPublicKey(one));
  return new Map(keys.map((key) => [sha256(key.export({ type: 'spki', format: 'der' })).slice(0, 32), key]));
}

function isSigned(key: KeyObject | undefined, domain: number, text: string, signature: Json | undefined): boolean {
  const bytes = Buffer.from(String(signature), 'base64');
  if (!key || bytes.toString('base64') !== signature) return false;
  return verify(null, Buffer.concat([Buffer.from([domain]), Buffer.from(text)]), key, bytes);
}
const OPENING = '<script type="application/json" id="evidence">';
/** `pem`: the keys that the reader trusts. Without them those in the file are used, which shows only that it is whole. */
export function verifyEvidence(file: Uint8Array, pem?: string): Verified {
  const [problems, found]: [string[], string[]] = [[], []];
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file);
    const from = text.startsWith('{') ? 0 : text.indexOf(OPENING) + OPENING.length;
    const json = text.slice(from, from === 0 ? -1 : text.indexOf('</script>', from));
    const pack = JSON.parse(json) as Body;
    if (pack.format !== 'trustward-evidence/1') throw new Error('it is no evidence of this version');
    if (canonical(pack).replaceAll('<', '\\u003c') !== json)
      problems.push('it is not in its one form: a name stands twice, the order differs, or something was added');
    const keys = keysOf(pem ?? (pack.keys as string[]).join(''));
    checkParts(pack, keys, (problem) => problems.push(problem), found);
    const at = from + json.lastIndexOf('"signature":"') + 13;
    const unsigned = text.slice(0, at) + text.slice(at + String(pack.signature).length);
    const [signer] = [...keys].find(([, key]) => isSigned(key, 7, unsigned, pack.signature)) ?? [];
    const whose = pem ? 'the key that was given' : 'the key that it brings itself (compare it with a copy: --key)';
    if (signer !== undefined) found.push(`the whole file is signed by ${signer}, ${whose}`);
    else problems.push(`the file as a whole is not signed by ${whose}: something was changed, added or removed`);
  } catch (error) {
    problems.push(`it cannot be read as evidence: ${(error as Error).message.split('\n')[0]}`);
  }
  return { ok: problems.length === 0, problems, found };
}

type Wrong = (problem: string) => void;
function checkParts(pack: Body, keys: Map<string, KeyObject>, wrong: Wrong, found: string[]): void {
  const roots = new Map<Json, Json>();
  for (const line of pack.checkpoints as string[]) {
    const { signature, ...claim } = JSON.parse(line) as Body;
    if (!isSigned(keys.get(String(claim.keyId)), 3, canonical(claim), signature as Json))
      wrong(`the checkpoint over ${claim.size} entries is not signed by ${claim.keyId}, or that is not the given key`);
    roots.set(claim.size as Json, claim.root as Json);
  }
  const entries = (pack.entries as Body[]).map(({ seq, prev, bytes, path, size }) => {
    const place = Buffer.alloc(8);
    place.writeBigUInt64BE(BigInt(seq as number));
    let hash = sha256(Buffer.from([1]), Buffer.from(prev as string, 'hex'), place, bytes as string);
    for (const step of path as string[])
      hash = step[0] === 'L' ? sha256('\u0006', step.slice(1), hash) : sha256('\u0006', hash, step.slice(1));
    const { kind, body } = JSON.parse(bytes as string) as Body;
    if (hash !== roots.get(size as Json) || Number(seq) > Number(size))
      wrong(`entry ${seq} (${kind}) is not what the checkpoint over ${size} sealed: it was edited, or is foreign`);
    return { seq: seq as number, kind: kind as string, body: body as Body };
  });
  const kept = new Map<Json, Json>();
  for (const { hash, meaning, id } of [pack.rules as Body[], pack.plans as Body[]].flat()) {
    const isNamed = entries.some(({ body }) => body.ruleHash === hash || body.digest === hash);
    if (!isNamed || sha256(canonical(meaning as Json)) !== hash) wrong(`${id} is not the one that an entry names`);
    kept.set(hash as Json, meaning as Json);
  }
  for (const { seq, kind, body } of entries) {
    const about = `entry ${seq} (${kind})`;
    const isBefore = (kinds: string[], isIt: (earlier: Body) => unknown) =>
      entries.some((one) => one.seq < seq && kinds.includes(one.kind) && isIt(one.body));
    const isOwn = ({ intent, intents }: Body) => [intent, intents].flat().includes(body.intent);
    if (kind === 'decision.made') judge(about, body, kept.get(body.ruleHash as Json) as Body, wrong, found);
    if (kind === 'decision.made' && body.run && !isBefore(['run.started'], ({ run }) => run === body.run))
      wrong(`${about} is of a run whose beginning is missing`);
    const isSaid = ({ plan, digest }: Body) => plan === body.plan && digest === body.digest;
    if (kind === 'plan.applying' && !isBefore(['plan.approved'], isSaid))
      wrong(`${about}: nobody said yes to this content of plan ${body.plan}`);
    if (kind === 'intent.sent' && !isBefore(['intent.planned', 'plan.applying'], isOwn))
      wrong(`${about} was called without having been planned`);
    const plan = kept.get(entries.find((one) => one.kind === 'plan.applying' && isOwn(one.body))?.body.digest ?? null);
    const isIt = ({ action, target }: Body) => action === body.action && target === body.target;
    if (kind === 'intent.sent' && plan && !(plan as Body[]).some(isIt)) wrong(`${about} is not in the approved plan`);
    if (kind === 'intent.settled' && body.outcome === 'succeeded' && !isBefore(['intent.sent'], isOwn))
      wrong(`${about} has an answer, and its call is missing`);
  }
  found.push(`${entries.length} entries of the audit, signed checkpoints over them: ${roots.size}`);
}

function judge(about: string, body: Body, rule: Body | undefined, wrong: Wrong, found: string[]): void {
  const what = `${about}: ${body.answer} ${body.action} ${body.target} by rule \`${body.rule}\``;
  try {
    if (!rule) throw new NotJudged("the rule's text, which was not kept");
    const asked = new Judge(body.facts as Body, rule, body.asOf as number);
    const truth = asked.truth(rule.when as Json);
    const verdict = truth === UNKNOWN ? 'unknown' : truth ? 'match' : 'no match';
    // What undoes an action follows from a match that is over.
    const isProposed = canonical(rule.then as Json).includes(`"${body.action}"`);
    const isPassedOn = String(body.reasonText).startsWith('it is no longer a device of');
    if (isProposed ? truth !== true : truth === true && !isPassedOn)
      wrong(`${what} does not follow: over the facts as they were seen the condition gives: ${verdict}`);
    else found.push(`${what}: judged again: ${verdict}`);
  } catch (error) {
    if (!(error instanceof NotJudged)) throw error;
    found.push(`${what}: NOT judged again, because of ${error.message}`);
  }
}

export function verdictOf({ ok, found }: Verified): string {
  const left = found.filter((one) => one.includes(': NOT judged again')).length;
  const but = left === 0 ? '' : `, except ${left} that could not be judged again`;
  const since = found.some((one) => one.includes('that it brings itself')) ? ' since the key in it signed it' : '';
  return ok ? `yes: nothing was changed${since}, and what was decided follows${but}` : 'NO:';
}

/** Returns the exit code: 0 only if nothing is wrong. */
export function main(args: readonly string[], write: (text: string) => void): number {
  const at = args.indexOf('--key');
  const pem = at < 0 ? undefined : readFileSync(args[at + 1] ?? '', 'utf8');
  const file = args.find((_, index) => at < 0 || (index !== at && index !== at + 1)) ?? '';
  const verified = verifyEvidence(readFileSync(file), pem);
  write([verdictOf(verified), ...verified.problems, ...verified.found].join('\n  '));
  return verified.ok ? 0 : 1;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = main(process.argv.slice(2), (text) => process.stdout.write(`${text}\n`));
