// explain: several rules ask for the same records of one subject: each read is made once. In: a port, and which of its methods only
// read. Out: the same port, whose answers are kept as long as it lives. It is made for one question, so nothing in it grows old.

/** A failed read is kept too: asking the platform again for each rule would only take longer. */
export function readingOnce<T extends object>(port: T, methods: readonly (keyof T & string)[]): T {
  const kept = new Map<string, unknown>();
  const memoized = new Set<PropertyKey>(methods);
  return new Proxy(port, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (!memoized.has(name)) return value.bind(target);
      return (...args: unknown[]) => {
        const key = `${String(name)} ${JSON.stringify(args)}`;
        if (!kept.has(key)) kept.set(key, value.apply(target, args));
        return kept.get(key);
      };
    },
  });
}
