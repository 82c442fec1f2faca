import { InternalError } from "./errors.js";
import type { Host } from "./host.js";
import type { Json, JsonObject } from "./json.js";
import { Scheduler } from "./scheduler.js";
import { Executor } from "./tracking.js";

/** What one run knows: its host, its calls and its result. */
export class Runtime {
  readonly host: Host;
  readonly scheduler: Scheduler;
  readonly executor = new Executor();
  /** What `FlowOutput.result` was given. */
  result: { value: Json } | undefined;
  /** What `FlowOutput.json` collected. */
  readonly collected: JsonObject = {};
  /** Set by `Rote.exit`. */
  exitCode: number | undefined;

  constructor(host: Host) {
    this.host = host;
    this.scheduler = new Scheduler(host);
  }
}

let installed: Runtime | undefined;

/** Installs the host of one run. */
export function install(host: Host): Runtime {
  installed = new Runtime(host);
  return installed;
}

/** Removes the host. */
export function uninstall(): void {
  installed = undefined;
}

/** Returns the run. Throws `InternalError` outside of one. */
export function current(): Runtime {
  if (installed === undefined) {
    throw new InternalError("there is no host: run the flow with `rote run`, or a test with `@rote/sdk/testing`");
  }
  return installed;
}

/**
 * Returns whether the module is evaluated without a host: by a linter, a bundler or a type checker. A flow with
 * effects at its top level guards them with it; one that exports a function needs no guard.
 */
export function isLintMode(): boolean {
  return installed === undefined;
}
