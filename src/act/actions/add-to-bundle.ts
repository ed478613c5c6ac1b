// act: add a service to a bundle (endpoint 14): `with: { bundle: ID }`.
import { bundleMembership } from './bundle-membership.ts';

export const addToBundle = bundleMembership('add_to_bundle', true);
