// act: remove a service from a bundle (endpoint 17): `with: { bundle: ID }`.
import { bundleMembership } from './bundle-membership.ts';

export const removeFromBundle = bundleMembership('remove_from_bundle', false);
