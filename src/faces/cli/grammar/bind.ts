// cli: what binds a name of the grammar to its command. INVARIANT: a file of the grammar imports a command only inside what
// it binds (`await import`), so that a command loads its own modules and no other's.

/** Makes an action of a function from arguments and options to an exit code. */
export type Bind = (action: (...args: never[]) => Promise<number>) => (...values: unknown[]) => Promise<void>;
