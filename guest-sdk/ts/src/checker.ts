import type { AdapterStatus } from "./host.js";
import { current } from "./runtime.js";
import { errorOf } from "./wire.js";

/** Returns the id of an endpoint: `calendar` for `adapter/calendar` and for `calendar`. */
export function adapterId(endpoint: string): string {
  return endpoint.startsWith("adapter/") ? endpoint.slice("adapter/".length) : endpoint;
}

/** What a check found: an adapter that is the expected one. */
export interface CheckResult {
  adapter: string;
  expected: string;
  installed: string;
}

/** Checks adapters before a flow relies on them. */
export class AdapterChecker {
  /**
   * Checks that the installed adapter is the expected one; without `expected`, the one in the flow's frontmatter.
   *
   * Throws `FingerprintMismatchError`, which ends the flow unless it is caught.
   */
  static async checkEndpoint(endpoint: string, expected?: string): Promise<CheckResult> {
    const adapter = adapterId(endpoint);
    const status = current().host.status(adapter);
    const wanted = expected ?? status.expected;
    checkFingerprint(adapter, wanted, status.installed);
    return { adapter, expected: wanted ?? "", installed: status.installed ?? "" };
  }
}

/** Throws `FingerprintMismatchError` unless both are the same known fingerprint. */
export function checkFingerprint(adapter: string, expected: string | null, installed: string | null): void {
  if (expected !== null && expected === installed) return;
  const name = adapter.charAt(0).toUpperCase() + adapter.slice(1);
  const lines = [
    `⚠️ ${name} adapter fingerprint mismatch.`,
    `Expected: ${expected ?? "none"}`,
    `Installed: ${installed ?? "none"}`,
    "Re-export this flow to update fingerprints.",
  ];
  // Both fingerprints are the host's, so this is its error: it keeps its kind when it ends the flow.
  throw errorOf({ kind: "fingerprint-mismatch", message: lines.join("\n") });
}

/** Throws `AuthError` when a credential has no value. */
export function checkCredentials(status: AdapterStatus): void {
  const missing = status.credentials.filter((credential) => !credential.present).map((credential) => credential.slot);
  if (missing.length === 0) return;
  const slots = missing.map((slot) => `\`${slot}\``).join(", ");
  throw errorOf({ kind: "auth", message: `adapter \`${status.adapter}\` has no value for ${slots}` });
}

/**
 * Returns the fingerprint that the flow's frontmatter pins for an adapter. Throws `FingerprintMismatchError` when it
 * pins none.
 */
export function getExpectedFingerprint(endpoint: string): string {
  const adapter = adapterId(endpoint);
  const { expected } = current().host.status(adapter);
  if (expected !== null) return expected;
  throw errorOf({ kind: "fingerprint-mismatch", message: `the flow pins no fingerprint for adapter \`${adapter}\`` });
}
