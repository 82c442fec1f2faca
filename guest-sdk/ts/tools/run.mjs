/**
 * `node tools/run.mjs test | types | build`: the SDK's chores.
 *
 *   test   checks the types, compares `dist/*.d.ts` with the sources, runs `test/`
 *   types  writes `dist/*.d.ts`, which is committed
 *   build  writes `dist/*.js` too, which is not
 *
 * The tools are installed below the repository's `target/` (or `CARGO_TARGET_DIR`), so that nothing but `dist` lies
 * beside the sources.
 */

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const sdk = dirname(dirname(fileURLToPath(import.meta.url)));
const work = join(process.env.CARGO_TARGET_DIR ?? join(sdk, "../../target"), "sdk-ts");
const modules = join(work, "node_modules");
const ENTRIES = ["index", "testing"];

function run(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, { stdio: "inherit", ...options });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

const node = (script, ...args) => run(process.execPath, [join(modules, script), ...args], { cwd: sdk });

/** Installs the locked tools; again only when the lock has changed. */
function install() {
  const lock = readFileSync(join(sdk, "package-lock.json"), "utf8");
  const done = join(work, "installed.lock");
  if (existsSync(done) && readFileSync(done, "utf8") === lock) return;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  for (const file of ["package.json", "package-lock.json", ".npmrc"]) cpSync(join(sdk, file), join(work, file));
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: work });
  writeFileSync(done, lock);
}

/** Writes one file of declarations per entry to `folder`. */
function declarations(folder) {
  const config = join(work, "tsconfig.dts.json");
  writeFileSync(config, JSON.stringify({ extends: join(sdk, "tsconfig.json"), include: [join(sdk, "src")] }));
  for (const entry of ENTRIES) {
    const out = join(folder, `${entry}.d.ts`);
    const source = join(sdk, "src", `${entry}.ts`);
    const flags = ["--project", config, "--export-referenced-types=false", "--no-check", "--no-banner", "--silent"];
    node("dts-bundle-generator/dist/bin/dts-bundle-generator.js", ...flags, "-o", out, source);
  }
}

function types() {
  mkdirSync(join(sdk, "dist"), { recursive: true });
  declarations(join(sdk, "dist"));
}

function compareTypes() {
  const folder = join(work, "dts");
  mkdirSync(folder, { recursive: true });
  declarations(folder);
  for (const entry of ENTRIES) {
    const [made, committed] = [folder, join(sdk, "dist")].map((where) => readFileSync(join(where, `${entry}.d.ts`), "utf8"));
    if (made !== committed) throw new Error(`dist/${entry}.d.ts is not what the sources give; run \`npm run types\``);
  }
}

function build() {
  types();
  const entries = ENTRIES.map((entry) => `src/${entry}.ts`);
  const flags = ["--bundle", "--splitting", "--format=esm", "--target=es2022", "--log-level=warning", "--outdir=dist"];
  run(join(modules, ".bin/esbuild"), [...entries, ...flags], { cwd: sdk });
}

function test() {
  node("typescript/bin/tsc", "-p", "tsconfig.json");
  node("typescript/bin/tsc", "-p", "test/tsconfig.json", "--typeRoots", join(modules, "@types"));
  compareTypes();
  const out = join(work, "test");
  rmSync(out, { recursive: true, force: true });
  const tests = readdirSync(join(sdk, "test")).filter((name) => name.endsWith(".test.ts"));
  const flags = ["--bundle", "--splitting", "--format=esm", "--platform=node", "--log-level=warning", "--sourcemap"];
  const entries = tests.map((name) => `test/${name}`);
  run(join(modules, ".bin/esbuild"), [...entries, ...flags, "--out-extension:.js=.mjs", `--outdir=${out}`], { cwd: sdk });
  const template = ["src/template.ts", "--bundle", "--format=iife", "--global-name=template", "--target=es2022"];
  run(join(modules, ".bin/esbuild"), [...template, "--log-level=warning", `--outfile=${join(work, "template.js")}`], { cwd: sdk });
  const built = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  run(process.execPath, ["--enable-source-maps", "--test", ...built]);
}

const chore = { build, test, types }[process.argv[2]];
if (chore === undefined) {
  console.error("usage: node tools/run.mjs build | test | types");
  process.exit(2);
}
install();
chore();
