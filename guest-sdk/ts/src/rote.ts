import { type Adapter, AdapterRegistry } from "./adapter.js";
import { Query, type ResponseId } from "./query.js";
import { current } from "./runtime.js";
import { TaskQueue } from "./task_queue.js";
import { TokenManager } from "./tokens.js";
import type { Executor } from "./tracking.js";
import { Files, Flows, Variables } from "./workspace.js";

/** Ends a flow from anywhere; `Rote.exit` throws it. */
export class ExitSignal extends Error {
  override readonly name = "ExitSignal";
}

/** A flow's workspace: adapters, recorded responses, variables, files. */
export class Rote {
  /** The name that the flow gave it. The host isolates every run by itself. */
  readonly name: string;
  readonly adapters = new AdapterRegistry();
  readonly tasks = new TaskQueue();
  readonly tokens = new TokenManager();
  readonly vars = new Variables();
  readonly files = new Files();
  readonly flows = new Flows();

  private constructor(name: string) {
    this.name = name;
  }

  /** Returns the run's workspace. */
  static async workspace(name: string): Promise<Rote> {
    current();
    return new Rote(name);
  }

  /**
   * Ends the flow: with code 0 its result is what `FlowOutput` was given; with another code it fails. Calls in flight
   * are waited for, no other is started.
   */
  static exit(code = 0): never {
    const run = current();
    run.exitCode ??= code;
    run.scheduler.close();
    throw new ExitSignal(`the flow exited with code ${code}`);
  }

  /** Sees every call of the run. */
  get executor(): Executor {
    return current().executor;
  }

  /** Returns an adapter; `adapter/calendar` and `calendar` are the same. */
  adapter(endpoint: string): Adapter {
    return this.adapters.adapter(endpoint);
  }

  /** Begins a query over a recorded response, `7`, `"@7"` or the response itself. */
  query(response: ResponseId): Query {
    return new Query(response);
  }

  /** Begins a query over a value that the flow has, as it is now. Throws `TypeError` when it has no JSON form. */
  queryValue(value: unknown): Query {
    return new Query({ value });
  }
}
