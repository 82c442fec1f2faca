import { CancelledError, RoteError } from "./errors.js";
import type { AdapterStatus, ToolDescriptor } from "./host.js";
import type { Json } from "./json.js";
import { adapterId, checkCredentials, checkFingerprint } from "./checker.js";
import type { Response } from "./response.js";
import { current } from "./runtime.js";
import type { Started } from "./scheduler.js";
import { Task } from "./task.js";
import type { CancelSignal, TaskQueue } from "./task_queue.js";

/** How a call in the background is shown and given up. */
export interface BackgroundOptions {
  /** Its name as a step in the live progress, which shows every call in any case; in a queue `adapter/tool` by default. */
  label?: string;
  /** Gives the call up when the work that made it is given up. */
  signal?: CancelSignal;
  /** The queue that waits for it and cancels it with its other work. */
  queue?: TaskQueue;
}

/** One call of a batch. */
export interface BatchItem {
  tool: string;
  arguments?: object;
}

/** One call of a batch as older flows write it. */
export interface LegacyBatchItem {
  tool_name: string;
  arguments?: object;
}

/** What came of a batch. */
export interface BatchResult {
  total: number;
  /** Answers of the calls that went well, in the order of the calls. */
  succeeded: Response[];
  /** The calls that failed, with their position. */
  failed: { index: number; error: RoteError }[];
}

/** How tools are looked for. */
export interface ProbeOptions {
  /** At most so many, 1–50; 10 by default. */
  limit?: number;
}

/** An adapter that is ready to be called. */
export interface Session {
  adapter: string;
  /** The fingerprint of what is installed. */
  fingerprint: string | null;
  credentials: AdapterStatus["credentials"];
}

/** An installed adapter. */
export class Adapter {
  /** Its id, without `adapter/`. */
  readonly id: string;
  readonly #fingerprint: string | undefined;
  #checked = false;

  constructor(endpoint: string, fingerprint?: string) {
    this.id = adapterId(endpoint);
    this.#fingerprint = fingerprint;
  }

  /** Returns the same adapter, pinned: its first call fails when another fingerprint is installed. */
  withFingerprint(fingerprint: string): Adapter {
    return new Adapter(this.id, fingerprint);
  }

  /** Returns how the adapter stands: its fingerprint, the expected one, and which credentials are there. */
  async status(): Promise<AdapterStatus> {
    return current().host.status(this.id);
  }

  /** Checks fingerprint and credentials. Throws `FingerprintMismatchError` or `AuthError`. */
  async initSession(): Promise<Session> {
    const status = current().host.status(this.id);
    checkFingerprint(this.id, this.#fingerprint ?? status.expected, status.installed);
    checkCredentials(status);
    return { adapter: this.id, fingerprint: status.installed, credentials: status.credentials };
  }

  /** Ranks the adapter's tools by what they should do, best first. */
  async probe(intent: string, { limit = 10 }: ProbeOptions = {}): Promise<ToolDescriptor[]> {
    return current().host.probe(this.id, intent, limit);
  }

  /**
   * Calls a tool and waits for the answer. The call is under way when this returns, so that calls which are made
   * together and awaited together run together.
   *
   * Throws `HttpError` when the remote answers with a status of 300 or more, but 304.
   */
  async call(tool: string, args: object = {}): Promise<Response> {
    return this.#start(tool, args).answer;
  }

  /** Starts a call in the background; with a label it is a step. The flow's end waits for it. */
  callBg(tool: string, args: object = {}, { label, signal, queue }: BackgroundOptions = {}): Task<Response> {
    const name = label ?? `${this.id}/${tool}`;
    if (queue !== undefined) return queue.submit((own) => this.#background(tool, args, [own, signal]), { label: name });
    const { scheduler } = current();
    const { task, answer } = this.#start(tool, args);
    const cancel = (): void => scheduler.cancel(task);
    signal?.onCancel(cancel);
    return new Task(name, label === undefined ? answer : asStep(label, answer), cancel);
  }

  /** Makes all calls together. Calls that fail do not end the others. */
  async batchCall(items: readonly (BatchItem | LegacyBatchItem)[]): Promise<BatchResult> {
    const calls = items.map(async (item) => {
      return this.#start("tool" in item ? item.tool : item.tool_name, item.arguments ?? {}).answer;
    });
    const result: BatchResult = { total: items.length, succeeded: [], failed: [] };
    for (const [index, end] of (await Promise.allSettled(calls)).entries()) {
      if (end.status === "fulfilled") result.succeeded.push(end.value);
      else if (end.reason instanceof RoteError) result.failed.push({ index, error: end.reason });
      else throw end.reason;
    }
    return result;
  }

  #background(tool: string, args: object, signals: readonly (CancelSignal | undefined)[]): Promise<Response> {
    const { task, answer } = this.#start(tool, args);
    for (const signal of signals) signal?.onCancel(() => current().scheduler.cancel(task));
    return answer;
  }

  #start(tool: string, args: object): Started {
    this.#checkPin();
    const { scheduler, executor } = current();
    const call = { adapter: this.id, tool };
    try {
      // Functions and symbols are lost on the way, as JSON has it; a cycle throws.
      const started = scheduler.start({ ...call, arguments: args as Json });
      const answer = started.answer.then(
        (response) => {
          executor.record({ ...call, response, error: undefined });
          return response;
        },
        (error: RoteError) => {
          executor.record({ ...call, response: undefined, error });
          throw error;
        },
      );
      return { task: started.task, answer };
    } catch (error) {
      if (error instanceof RoteError) executor.record({ ...call, response: undefined, error });
      throw error;
    }
  }

  #checkPin(): void {
    if (this.#fingerprint === undefined || this.#checked) return;
    checkFingerprint(this.id, this.#fingerprint, current().host.status(this.id).installed);
    this.#checked = true;
  }
}

/** Shows how a call stands as a step of the live progress. */
async function asStep(label: string, answer: Promise<Response>): Promise<Response> {
  const { host } = current();
  host.progress(label, "running");
  try {
    const response = await answer;
    host.progress(label, "done");
    return response;
  } catch (error) {
    host.progress(label, error instanceof CancelledError ? "skipped" : "failed");
    throw error;
  }
}

/** Adapters by id, one object each. */
export class AdapterRegistry {
  readonly #adapters = new Map<string, Adapter>();

  /** Returns the adapter; `adapter/calendar` and `calendar` are the same. */
  adapter(endpoint: string): Adapter {
    const id = adapterId(endpoint);
    const known = this.#adapters.get(id) ?? new Adapter(id);
    this.#adapters.set(id, known);
    return known;
  }
}

