import { adapterId, checkCredentials } from "./checker.js";
import { current } from "./runtime.js";

/** Which credentials of an adapter have a value. Never a value: no flow ever sees one. */
export interface TokenStatus {
  adapter: string;
  /** Whether every slot has a value. */
  ready: boolean;
  slots: { slot: string; present: boolean }[];
}

/** Tells about credentials; the host keeps, refreshes and uses them. */
export class TokenManager {
  /** Returns whether every credential that the adapter needs has a value. */
  async check(endpoint: string): Promise<boolean> {
    return (await this.info(endpoint)).ready;
  }

  /**
   * Makes sure that the credentials can be used. The host refreshes what is about to expire when it makes a call, so
   * this only throws `AuthError` when a value is missing.
   */
  async refresh(endpoint: string): Promise<TokenStatus> {
    checkCredentials(current().host.status(adapterId(endpoint)));
    return this.info(endpoint);
  }

  /** Returns which credentials have a value. */
  async info(endpoint: string): Promise<TokenStatus> {
    const { adapter, credentials } = current().host.status(adapterId(endpoint));
    return { adapter, ready: credentials.every((credential) => credential.present), slots: credentials };
  }
}
