// Makes a component of a script: node componentize.mjs SOURCE WIT OUT, beside a folder node_modules.
import { writeFile } from "node:fs/promises";
import { componentize } from "@bytecodealliance/componentize-js";

const [source, wit, out] = process.argv.slice(2);
const wish = { sourcePath: source, witPath: wit, worldName: "flow", disableFeatures: ["http", "fetch-event"] };
const { component } = await componentize(wish);
await writeFile(out, component);
