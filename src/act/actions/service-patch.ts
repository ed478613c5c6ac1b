// act: the check of an `update_service` patch, when its rule is loaded. In: the rule's settings. Out: the fault, for people, or
// undefined. A patch must not rename a service, since that would create another, and must not contain a secret.
import { type Facts, isFacts, own } from '../../domain/facts.ts';
import { withoutSecrets } from '../../domain/secrets.ts';
import { PATCH_DEPTH_MAX } from '../merge-patch.ts';

export function refusePatch(settings: Facts): string | undefined {
  const other = Object.keys(settings).find((key) => key !== 'patch');
  if (other !== undefined) return `update_service takes only \`patch\`, but \`${other}\` is given`;
  const patch = own(settings, 'patch');
  if (patch === undefined)
    return "update_service needs `with: { patch: {…} }`: a JSON merge patch on the service's spec";
  if (!isFacts(patch) || Object.keys(patch).length === 0)
    return '`patch` is an object with at least one member, such as { spec: { backend: { target: { port: "443" } } } }';
  if (depthOf(patch, 0) > PATCH_DEPTH_MAX) return `\`patch\` is nested deeper than ${PATCH_DEPTH_MAX} levels`;
  return refuseRenaming(patch) ?? refuseSecret(patch);
}

function refuseRenaming(patch: Facts): string | undefined {
  const metadata = own(patch, 'metadata');
  if (metadata === undefined) return undefined;
  if (!isFacts(metadata)) return '`patch` would replace `metadata`, and with it the name of the service';
  const named = ['name', 'cluster'].find((key) => Object.hasOwn(metadata, key));
  if (named === undefined) return undefined;
  return `\`patch\` would change \`metadata.${named}\`: the server would create another service`;
}

/** Many people read a rule file, and its content appears in plans, reports and the audit. */
function refuseSecret(patch: Facts): string | undefined {
  const [secret] = withoutSecrets(patch).dropped;
  return secret && `\`patch\` sets \`${secret}\`, which is a secret: a rule must not hold one`;
}

function depthOf(value: unknown, depth: number): number {
  if (typeof value !== 'object' || value === null || depth > PATCH_DEPTH_MAX) return depth;
  return Object.values(value).reduce((deepest: number, member) => Math.max(deepest, depthOf(member, depth + 1)), depth);
}
