/**
 * No code from texts, also at run time: a flow runs what was bundled, digested and signed.
 *
 * An engine has four constructors of functions, one for each kind. A script reaches them by the global `Function` and by
 * `constructor` of any function, and in no other way; `eval` it reaches by its name. The engine evaluates the script
 * itself by neither.
 */

const REASON = "a flow runs only the code that was bundled; it is what is digested and signed";

type Anything = (...values: unknown[]) => unknown;

/** Takes `eval` and the constructors of functions out of a script's reach. */
export function sealCode(): void {
  const kinds = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (const kind of kinds) sealConstructor(Object.getPrototypeOf(kind) as { constructor: Anything });
  fix(globalThis, "Function", Object.getPrototypeOf(kinds[0]).constructor);
  fix(globalThis, "eval", refusal("eval"));
}

/** Puts a function in the place of the constructor of one kind of function, which is its like in all but its work. */
function sealConstructor(prototype: { constructor: Anything }): void {
  const refused = refusal(prototype.constructor.name);
  Object.defineProperty(refused, "prototype", { value: prototype, writable: false });
  fix(prototype, "constructor", refused);
}

function refusal(name: string): Anything {
  const refused = function (): never {
    throw new TypeError(`\`${name}\` is refused: ${REASON}`);
  };
  return Object.defineProperty(refused, "name", { value: name });
}

/** Defines a property that stays as it is. */
function fix(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, writable: false, configurable: false, enumerable: false });
}
