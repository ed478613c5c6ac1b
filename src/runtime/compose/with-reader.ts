// A database read for a while. In: a reader as it is opened, what is to be read. Out: what was found; the reader is closed, also after an error.

/** Errors: those of opening it, and of `read`. */
export async function withReader<R extends { close(): void | Promise<void> }, T>(
  opened: Promise<R>,
  read: (reader: R) => Promise<T>,
): Promise<T> {
  const reader = await opened;
  try {
    return await read(reader);
  } finally {
    await reader.close();
  }
}
