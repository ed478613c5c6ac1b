// domain: an organization: whose devices, users and services they are. In: nothing. Out: what names one. Its id is a folder's name and a column's
// value, so it has a form that is safe in both.

/** Of a database that has one organization, configured by the environment. */
export const DEFAULT_ORGANIZATION = 'default';

export const ORGANIZATION_ID_MAX = 63;
const ID = /^[a-z0-9]+(-[a-z0-9]+)*$/;

export function isOrganizationId(text: string): boolean {
  return text.length <= ORGANIZATION_ID_MAX && ID.test(text);
}
