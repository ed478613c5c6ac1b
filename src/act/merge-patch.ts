// act: JSON merge patches (RFC 7386): applies a patch to a document, and lists the changes as people and the audit see them.
// In: JSON values, hostile. Out: new values. It never changes its input, touches a prototype, or shows a secret's value.
import { canonicalJson } from '../domain/canonical.ts';
import type { Change } from '../domain/effect.ts';
import { type Fact, type Facts, isFacts, own } from '../domain/facts.ts';
import { DROPPED } from '../domain/secret-texts.ts';
import { isSecretMember, withoutSecrets } from '../domain/secrets.ts';

/** Services' specs lie a handful of levels deep. */
export const PATCH_DEPTH_MAX = 32;

/** The patched document: members that are `null` in the patch are removed, objects merged, all others replaced. */
export function mergePatch(document: Fact | undefined, patch: Fact): Fact {
  if (!isFacts(patch)) return patch;
  const merged = new Map(Object.entries(isFacts(document) ? document : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

/** Whether the patch would change nothing. A member that is null counts as absent: clients marshal empty lists so. */
export function isPatched(document: Facts, patch: Facts): boolean {
  return canonicalJson(withoutNulls(mergePatch(document, patch))) === canonicalJson(withoutNulls(document));
}

function withoutNulls(value: Fact): Fact {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isFacts(value)) return value;
  const kept = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutNulls(member)]));
}

/** The differences, member by member; lists are compared whole. Secret values show as `[dropped]`. */
export function changesBetween(before: Fact | undefined, after: Fact | undefined): Change[] {
  return differences(before, after, [], false);
}

function differences(before: Fact | undefined, after: Fact | undefined, path: string[], isSecret: boolean): Change[] {
  if (isFacts(before) && isFacts(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const secret = (key: string) => isSecret || isSecretMember(before, key) || isSecretMember(after, key);
    return keys.flatMap((key) => differences(own(before, key), own(after, key), [...path, key], secret(key)));
  }
  if (canonicalJson(before ?? null) === canonicalJson(after ?? null)) return [];
  return [{ path: path.join('.'), from: shown(before, isSecret), to: shown(after, isSecret) }];
}

function shown(value: Fact = null, isSecret: boolean): Fact {
  if (isSecret && value !== null) return DROPPED;
  return withoutSecrets(value, { instead: () => DROPPED }).value ?? null;
}

/** Every value that a patch sets, with its path; `null`: it is removed. An empty object counts as a value. */
export function settingsOfPatch(patch: Fact, path: string[] = []): { path: string[]; value: Fact }[] {
  if (!isFacts(patch) || Object.keys(patch).length === 0) return [{ path, value: patch }];
  return Object.entries(patch).flatMap(([key, value]) => settingsOfPatch(value, [...path, key]));
}
