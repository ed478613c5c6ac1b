// management client: who hears of each request and each retry. In: one listener, or none. Out: calls of it. INVARIANT: whatever a
// listener does, an answer stays what it is. It never sees a parameter, a header or a body.
import type { ApiListener } from '../../domain/api-call.ts';
import { TransportFault } from './fault.ts';

export class CallWatch {
  private listener: ApiListener | undefined;

  /** There is one: it passes on what many follow. */
  watch(listener: ApiListener): void {
    this.listener = listener;
  }

  /** A request that could not be sent is one too. */
  called(operation: string, result: { status: number } | { error: unknown }, ms: number): void {
    this.report((listener) => listener.called({ operation, answer: answerOf(result), ms }));
  }

  retried(operation: string): void {
    this.report((listener) => listener.retried(operation));
  }

  private report(tell: (listener: ApiListener) => void): void {
    try {
      if (this.listener) tell(this.listener);
    } catch {
      // It has lost a count.
    }
  }
}

function answerOf(result: { status: number } | { error: unknown }): string {
  if ('status' in result) return String(result.status);
  return result.error instanceof TransportFault ? result.error.why : 'failed';
}
