import type { Adapter, Session } from "./adapter.js";
import { checkCredentials, checkFingerprint } from "./checker.js";
import type { Rote } from "./rote.js";

/** What must be ready. */
export interface PreflightOptions {
  /** Adapters by endpoint, `adapter/calendar` or `calendar`. */
  adapters: readonly string[];
}

/** What is ready. */
export interface PreflightResult {
  /** The adapters by id. */
  adapters: Record<string, Adapter>;
  /** Their sessions, in the order asked. */
  sessions: Session[];
}

/**
 * Checks every adapter before the first call: all fingerprints first, then credentials. Throws the first problem, so
 * that a flow fails before it had any effect.
 */
export async function runPreflight(rote: Rote, { adapters }: PreflightOptions): Promise<PreflightResult> {
  const result: PreflightResult = { adapters: {}, sessions: [] };
  const statuses = [];
  for (const endpoint of adapters) {
    const adapter = rote.adapter(endpoint);
    statuses.push(await adapter.status());
    result.adapters[adapter.id] = adapter;
  }
  for (const { adapter, expected, installed } of statuses) checkFingerprint(adapter, expected, installed);
  for (const status of statuses) {
    checkCredentials(status);
    result.sessions.push({ adapter: status.adapter, fingerprint: status.installed, credentials: status.credentials });
  }
  return result;
}
