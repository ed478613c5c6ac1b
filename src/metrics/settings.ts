// metrics: the listener of the metrics alone. In: a configuration name. Out: where it listens, or a fault that says what was expected.

export interface MetricsSettings {
  /** Undefined: `/metrics` of the endpoint alone, with a token. */
  listen: { host: string; port: number } | undefined;
}

/** Reads names of the configuration; faults are collected, not thrown. */
interface Names {
  text(name: string): string | undefined;
  fault(text: string): void;
}

const NAME = 'TRUSTWARD_METRICS_LISTEN';

/** `parse`: as the endpoint's own address is read. */
export function readMetricsSettings(
  names: Names,
  parse: (text: string) => { host: string; port: number } | undefined,
): MetricsSettings {
  const text = names.text(NAME);
  const listen = text === undefined ? undefined : parse(text);
  if (text !== undefined && !listen) names.fault(`${NAME} is \`${text}\`: expected host:port such as 127.0.0.1:9464`);
  return { listen };
}
