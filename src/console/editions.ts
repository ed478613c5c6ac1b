// console: the editions of the server. `basic` has no events and no services.

export const EDITIONS = ['full', 'basic'] as const;
export type Edition = (typeof EDITIONS)[number];
