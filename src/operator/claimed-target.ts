// operator: the target that a person names for a release. In: a target, or any name of it. Out: the target that open claims are on.
// A name that its user chose releases nothing by itself.
import type { ActStore } from '../domain/act-store.ts';
import type { Claim } from '../domain/claim.ts';
import { AppError } from '../domain/errors.ts';
import type { IdentityReader } from '../domain/identity.ts';
import type { RecordReader } from '../domain/record-reader.ts';
import { demandOneToChange, type Named, resolveName } from '../domain/resolve-name.ts';
import { openClaims } from '../domain/store.ts';

type Reader = IdentityReader & Pick<ActStore, 'openClaimsOn'> & Pick<RecordReader, 'claims'>;

/** Errors: AppError `not_found` (no open claim), `usage` (several targets with claims, or a name that a user chose). */
export async function claimedTarget(reader: Reader, given: string): Promise<string> {
  if ((await reader.openClaimsOn(given)).length > 0) return given;
  const resolved = await resolveName(reader, given, { kinds: ['device', 'service'] });
  const among = resolved.found === 'one' ? [resolved.named] : resolved.found === 'several' ? resolved.among : [];
  const claimed: Named[] = [];
  for (const named of among) {
    if (named.target !== undefined && (await reader.openClaimsOn(named.target)).length > 0) claimed.push(named);
  }
  const [first] = claimed;
  if (first === undefined) throw noClaimOn(among[0]?.target ?? given, await openClaims(reader));
  const left =
    claimed.length === 1 ? { found: 'one' as const, named: first } : { found: 'several' as const, among: claimed };
  return demandOneToChange(left, given).target as string;
}

/** No prefix is accepted: a target is a name from the platform, and the beginning of one may be another's full name. */
function noClaimOn(target: string, claims: readonly Claim[]): AppError {
  const alike = new Set(
    claims.flatMap((claim) => (target !== '' && claim.target.startsWith(target) ? claim.target : [])),
  );
  const named = [...alike].slice(0, 5).map((name) => `\`${name}\``);
  const hint = alike.size > 0 ? `give the whole target; such claims are on ${named.join(', ')}` : '';
  return new AppError(
    'not_found',
    `no claim on \`${target}\` is open: ${hint || '`claims list` shows those that are'}`,
  );
}
