import type { FileInfo } from "./host.js";
import type { Json } from "./json.js";
import { current } from "./runtime.js";
import { decode, encode } from "./utf8.js";

/** Variables of the run's workspace. */
export class Variables {
  /** Returns a variable; undefined when there is none. The type is the caller's claim and is not checked. */
  async get<T = Json>(name: string): Promise<T | undefined> {
    return current().host.getVariable(name) as T | undefined;
  }

  /** Sets a variable to a JSON value. */
  async set(name: string, value: unknown): Promise<void> {
    current().host.setVariable(name, value as Json);
  }

  /** Returns the names, sorted. */
  async names(): Promise<string[]> {
    return current().host.variableNames();
  }
}

/** Named files among the artifacts of the run. A name is one path segment of at most 100 bytes. */
export class Files {
  /** Writes a whole file; text as UTF-8. */
  async write(name: string, content: string | Uint8Array): Promise<void> {
    current().host.writeFile(name, typeof content === "string" ? encode(content) : content);
  }

  /** Returns a file's bytes. Throws `NotFoundError`. */
  async read(name: string): Promise<Uint8Array> {
    return current().host.readFile(name);
  }

  /** Returns a file as text; bytes that are not UTF-8 become U+FFFD. Throws `NotFoundError`. */
  async readText(name: string): Promise<string> {
    return decode(current().host.readFile(name));
  }

  /** Returns the files, by name. */
  async names(): Promise<FileInfo[]> {
    return current().host.fileNames();
  }
}

/** Other flows. */
export class Flows {
  /**
   * Runs a released flow that this one pins and returns its result. It runs to its end before this one goes on.
   */
  async run<T = Json>(name: string, parameters: object = {}): Promise<T> {
    return current().host.runFlow(name, parameters as Json) as T;
  }
}
