/**
 * What the script template evaluates when it is built (`flows/_js`): a function that takes the component's imports
 * and returns the driver. It defines the globals of a flow, `__rote_sdk` among them.
 */

import { Driver, mainOf } from "./driver.js";
import { define, defineGlobals } from "./globals.js";
import * as sdk from "./index.js";
import type { Json } from "./json.js";
import { type Natives, nativeHost } from "./natives.js";
import { install } from "./runtime.js";
import { sealCode } from "./seal.js";
import type { Outcome } from "./wire.js";

/** What the component calls, in this order: `start` or `fail`, then `outcome` and `step` in turn. */
interface TemplateDriver {
  start(exports: unknown, parameters: string): void;
  fail(thrown: unknown): void;
  outcome(): string | undefined;
  step(): void;
  rejected(promise: unknown, reason: unknown, handled: boolean): void;
}

/** Makes the driver of the one run that a component instance has. */
export default function template(natives: Natives): TemplateDriver {
  sealCode();
  const host = nativeHost(natives);
  const driver = new Driver(install(host));
  defineGlobals(host);
  define("__rote_sdk", Object.freeze({ ...sdk }));
  return {
    start: (exports, parameters) => attempt(driver, () => driver.start(mainOf(exports), JSON.parse(parameters) as Json)),
    fail: (thrown) => driver.fail(thrown),
    outcome: () => text(driver.outcome()),
    step: () => attempt(driver, () => driver.step()),
    rejected: (promise, reason, handled) => driver.rejected(promise, reason, handled),
  };
}

/** An exception here is the flow's end, not the component's. */
function attempt(driver: Driver, action: () => void): void {
  try {
    action();
  } catch (error) {
    driver.fail(error);
  }
}

/** The component looks for the first bytes, so the text is put together here. */
function text(outcome: Outcome<Json> | undefined): string | undefined {
  if (outcome === undefined) return undefined;
  return "ok" in outcome ? `{"ok":${JSON.stringify(outcome.ok)}}` : `{"err":${JSON.stringify(outcome.err)}}`;
}
