// Signatures: `rules.sig` at the top of a folder of rules → who vouches for all that was read of it. In: the texts as they were read, the lines of those who
// may sign. Out: their names, or what is not covered, one line each. The file is a list of digests and SSH signatures (SSHSIG, as `ssh-keygen -Y sign`
// makes them) over it. INVARIANT: what is judged by is what was hashed: nothing is read here.
import { createHash, createPublicKey, type JsonWebKeyInput, type KeyObject, sign, verify } from 'node:crypto';
import { digestOf } from '../../domain/digest.ts';
import { AppError } from '../../domain/errors.ts';
import type { LoadedGuards, LoadedRule } from '../language/loaded-rule.ts';
import type { RuleProblem } from '../language/problem.ts';
import { guardedBy } from './guards-file.ts';

export const SIGNATURE_FILE = 'rules.sig';
/** So that a signature made for something else, such as a commit, is none of rules. */
export const NAMESPACE = 'trustward-rules';
const HEAD = 'trustward-rules 1';
const [BEGIN, END] = ['-----BEGIN SSH SIGNATURE-----', '-----END SSH SIGNATURE-----'];
const RSA_BITS_MIN = 2048;

export interface TextRead {
  /** By its path in its folder. */
  name: string;
  text: string;
}

export interface Signer {
  /** E-mail addresses. */
  names: readonly string[];
  key: Buffer;
}

/** What is signed: a line for each file, and so also which there are. */
export function listOf(files: readonly TextRead[]): string {
  const lines = files.map(({ name, text }) => `${digestOfText(text)} ${JSON.stringify(name)}`);
  return `${[HEAD, ...lines.sort()].join('\n')}\n`;
}

function digestOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** As `ssh-keygen` has them: `alice@example.com[,…] [namespaces="…"] ssh-ed25519 AAAA…`. Errors: AppError `rules`. */
export function readSigners(text: string, file: string): Signer[] {
  return text.split('\n').flatMap((row, at): Signer[] => {
    const line = row.trim();
    if (line === '' || line.startsWith('#')) return [];
    const fault = (what: string) => new AppError('rules', `${file}:${at + 1}:1: ${what}`);
    const [, who = '', options = '', key = ''] =
      /^(\S+)\s+(?:(\S+)\s+)??(?:ssh|ecdsa|sk)-\S+\s+([A-Za-z0-9+/]+=*)(?:\s.*)?$/.exec(line) ?? [];
    if (key === '')
      throw fault('expected an e-mail address and a public key, such as `alice@example.com ssh-ed25519 AAAA…`');
    const names = who.split(',');
    if (!names.every((name) => /^[^\s()@*?!"]+@[^\s()@*?!"]+$/.test(name)))
      throw fault('whoever may sign is an e-mail address, without wildcards');
    const [, spaces] = /^namespaces="([^"]+)"$/.exec(options) ?? [];
    if (options !== '' && spaces === undefined)
      throw fault('of options only `namespaces` is known here; take the line out when its key ends');
    if (spaces !== undefined && !spaces.split(',').includes(NAMESPACE)) return [];
    const blob = Buffer.from(key, 'base64');
    if (!keyOf(blob)) throw fault(`expected a key of Ed25519, ECDSA (P-256) or RSA from ${RSA_BITS_MIN} bits on`);
    return [{ names: names.map((name) => name.toLowerCase()), key: blob }];
  });
}

// The wire format of SSH: strings with their lengths before them.

class Wire {
  private at = 0;
  constructor(private readonly bytes: Buffer) {}

  /** Errors: RangeError at its end. */
  take(length?: number): Buffer {
    if (length === undefined) return this.take(this.take(4).readUInt32BE());
    if (this.at + length > this.bytes.length) throw new RangeError('it ends too soon');
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }
}

function packed(...parts: (string | Buffer)[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const bytes = Buffer.from(part as string);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      return [length, bytes];
    }),
  );
}

/** Undefined: of another kind, too short, or no key. */
function keyOf(blob: Buffer): { key: KeyObject; kind: string } | undefined {
  try {
    const wire = new Wire(blob);
    const kind = wire.take().toString('latin1');
    const jwk = jwkOf(kind, wire);
    if (!jwk || !wire.isAtEnd()) return undefined;
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return kind === 'ssh-rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) < RSA_BITS_MIN
      ? undefined
      : { key, kind };
  } catch {
    return undefined;
  }
}

function jwkOf(kind: string, wire: Wire): JsonWebKeyInput['key'] | undefined {
  const text = (bytes: Buffer) => bytes.toString('base64url');
  if (kind === 'ssh-ed25519') return { kty: 'OKP', crv: 'Ed25519', x: text(wire.take()) };
  if (kind === 'ssh-rsa') {
    const [e, n] = [wire.take(), wire.take()];
    return { kty: 'RSA', e: text(e), n: text(n[0] === 0 ? n.subarray(1) : n) };
  }
  if (kind !== 'ecdsa-sha2-nistp256' || wire.take().toString('latin1') !== 'nistp256') return undefined;
  const point = wire.take();
  return { kty: 'EC', crv: 'P-256', x: text(point.subarray(1, 33)), y: text(point.subarray(33)) };
}

function isSignedBy(key: Buffer, signature: Buffer, data: Buffer): boolean {
  const found = keyOf(key);
  const wire = new Wire(signature);
  const kind = wire.take().toString('latin1');
  const bytes = wire.take();
  if (!found) return false;
  if (found.kind === 'ssh-rsa')
    return /^rsa-sha2-(256|512)$/.test(kind) && verify(`sha${kind.slice(9)}`, data, found.key, bytes);
  if (kind !== found.kind) return false;
  if (kind === 'ssh-ed25519') return verify(null, data, found.key, bytes);
  const numbers = new Wire(bytes);
  const fixed = [numbers.take(), numbers.take()].map((one) => Buffer.concat([Buffer.alloc(32), one]).subarray(-32));
  return verify('sha256', data, { key: found.key, dsaEncoding: 'ieee-p1363' }, Buffer.concat(fixed));
}

function signedData(list: string, hash: string): Buffer {
  const digest = createHash(hash).update(list).digest();
  return Buffer.concat([Buffer.from('SSHSIG'), packed(NAMESPACE, '', hash, digest)]);
}

/** With a private key of Ed25519; otherwise `ssh-keygen` makes one. */
export function signatureWith(key: KeyObject, list: string): string {
  const x = createPublicKey(key).export({ format: 'jwk' }).x ?? '';
  const blob = packed('ssh-ed25519', Buffer.from(x, 'base64url'));
  const signature = packed('ssh-ed25519', sign(null, signedData(list, 'sha512'), key));
  const version = Buffer.from([0, 0, 0, 1]);
  const whole = Buffer.concat([Buffer.from('SSHSIG'), version, packed(blob, NAMESPACE, '', 'sha512', signature)]);
  return `${[BEGIN, ...(whole.toString('base64').match(/.{1,70}/g) ?? []), END].join('\n')}\n`;
}

/** Why a signature counts for nothing, or whose it is. */
function signerOf(
  block: string,
  list: string,
  signers: readonly Signer[],
): { names: readonly string[] } | { fault: string } {
  try {
    const wire = new Wire(Buffer.from(block, 'base64'));
    if (wire.take(6).toString('latin1') !== 'SSHSIG' || wire.take(4).readUInt32BE() !== 1)
      return { fault: 'a signature is of another format' };
    const [key, namespace, , hash] = [wire.take(), wire.take().toString(), wire.take(), wire.take().toString()];
    const names = signers.filter((one) => one.key.equals(key)).flatMap((one) => one.names);
    if (names.length === 0) return { fault: `the key of a signature (${keyName(key)}) is of nobody who may sign` };
    if (namespace !== NAMESPACE) return { fault: `a signature of ${names.join(' and ')} was made for something else` };
    if (/^sha(256|512)$/.test(hash) && isSignedBy(key, wire.take(), signedData(list, hash))) return { names };
    return { fault: `a signature of ${names.join(' and ')} is of another list than the one that stands here` };
  } catch {
    return { fault: 'a signature is damaged' };
  }
}

/** As `ssh-keygen -l` shows it. */
function keyName(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}

/** Of a file: the list as it stands there, and its signatures. */
function partsOf(text: string): { list: string; blocks: string[] } {
  const [list = '', ...rest] = text.split(BEGIN);
  return { list, blocks: rest.map((part) => part.split(END, 1)[0] as string) };
}

/** The file with one more signature: those of others stay as long as they are of the same list. */
export function withSignature(before: string | undefined, list: string, added: string): { text: string; line: string } {
  const keyIn = (block: string) => new Wire(Buffer.from(block, 'base64').subarray(10)).take();
  const key = keyIn(partsOf(added).blocks[0] as string);
  const old = partsOf(before ?? '');
  const same = old.list === list ? old.blocks.filter((block) => !keyIn(block).equals(key)) : [];
  const kind = new Wire(key).take().toString('latin1');
  return {
    text: `${list}${same.map((block) => `${BEGIN}${block}${END}\n`).join('')}${added.trim()}\n`,
    line: `${kind} ${key.toString('base64')}`,
  };
}

/** Who vouches for these files; everything that is not covered is a problem. `text`: of the file of signatures, or why it is not read. */
export function whoSigned(
  text: string | RuleProblem,
  files: readonly TextRead[],
  signers: readonly Signer[],
): { signedBy: string[]; problems: RuleProblem[] } {
  const problem = (message: string, file = SIGNATURE_FILE): RuleProblem => ({
    file,
    line: 1,
    column: 1,
    code: 'signature',
    message,
  });
  const then = 'look at what was changed, then sign it: `trustward rules sign --key FILE`';
  if (typeof text !== 'string')
    return { signedBy: [], problems: [problem(`nobody has signed these rules (${text.message}); ${then}`)] };
  const { list, blocks } = partsOf(text);
  const found = blocks.map((block) => signerOf(block, list, signers));
  const signedBy = [...new Set(found.flatMap((one) => ('names' in one ? one.names : [])))].sort();
  if (signedBy.length === 0) {
    const faults = found.flatMap((one) => ('fault' in one ? [problem(`${one.fault}; ${then}`)] : []));
    return { signedBy, problems: faults.length > 0 ? faults : [problem(`it has no signature; ${then}`)] };
  }
  const who = signedBy.join(' and ');
  if (!list.startsWith(`${HEAD}\n`))
    return { signedBy, problems: [problem(`${who} signed another kind of list; ${then}`)] };
  const signed = new Map(
    list
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => [line.slice(65), line.slice(0, 64)]),
  );
  const folded = new Map<string, string>();
  const problems: RuleProblem[] = [];
  for (const { name, text: read } of files) {
    const key = JSON.stringify(name);
    const hash = signed.get(key);
    const twin = folded.get(name.normalize('NFC').toLowerCase());
    folded.set(name.normalize('NFC').toLowerCase(), name);
    if (twin !== undefined)
      problems.push(problem(`its name differs from that of \`${twin}\` in case alone; rename one`, name));
    if (hash === undefined) problems.push(problem(`it is not covered by the signature of ${who}; ${then}`, name));
    else if (hash !== digestOfText(read))
      problems.push(problem(`it was changed after ${who} signed it; ${then}`, name));
    signed.delete(key);
  }
  for (const name of signed.keys())
    problems.push(problem(`${name}, which ${who} signed, is not there any longer; ${then}`));
  return { signedBy, problems };
}

/** A set with the names of those who vouch for it: whoever has a rule has them, and another signer makes another set. */
export function signedSet<Set extends { rules: LoadedRule[]; hash: string }>(
  set: Set,
  signedBy: string[],
  files: LoadedGuards['files'],
): Set {
  const before = set.rules[0]?.guards ?? { ask: [], lastDevice: false, perDay: undefined, files: [] };
  const { approvals } = before;
  const guards: LoadedGuards = {
    ...before,
    signedBy,
    ...(approvals && { approvals: { ...approvals, signedBy } }),
    files: [...before.files, ...files],
  };
  return { ...set, rules: guardedBy(set.rules, guards), hash: digestOf([set.hash, { signedBy }]) };
}
