#!/usr/bin/env bash
# Unpacks a Rust compiler for wasm32-unknown-unknown and wasm32-wasip2 where `rustup target add` is not possible.
#
#   guest-toolchain.sh PREFIX        prints the path of the compiler, PREFIX/rustc
#
# Takes Debian's own rustc and libstd-rust-dev-wasm32; needs about 800 MB of disk below PREFIX. Idempotent; an
# interrupted run starts over. `cargo xtask guests` calls it.
set -euo pipefail
prefix=$(realpath -m "${1:?usage: guest-toolchain.sh PREFIX}")
suite=${GUEST_SUITE:-forky}
rustc="$prefix/rustc"
fail() { echo "guest-toolchain: $1; or install the target: rustup target add wasm32-unknown-unknown" >&2; exit 1; }
# shellcheck source=xtask/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/debian.sh"

if [ -x "$rustc" ] && "$rustc" --version >/dev/null 2>&1; then echo "$rustc"; exit 0; fi
rm -f "$rustc"
open_suite

# The versioned packages behind the unversioned names, then every library that the compiler links.
depends() { apt-cache "${options[@]}" depends "$1" | awk -v name="$2" '$1 == "Depends:" && $2 ~ name && !n++ {print $2}'; }
standard=$(depends libstd-rust-dev '^libstd-rust-[0-9]')
[ -n "$standard" ] || fail "suite \`$suite\` has no Rust library"
llvm=$(depends "$standard" '^libllvm')
[ -n "$llvm" ] || fail "suite \`$suite\` has no Rust compiler"
# shellcheck disable=SC2046  # one package a word
unpack rustc libstd-rust-dev libstd-rust-dev-wasm32 "$standard" $(libraries_of "$llvm")

loader=$(loader)
cat >"$rustc.new" <<WRAPPER
#!/bin/sh
exec "$loader" --library-path "$(dirname "$loader")" --argv0 "$root/usr/bin/rustc" \\
  "$root/usr/bin/rustc" --sysroot "$root/usr" "\$@"
WRAPPER
chmod +x "$rustc.new"
"$rustc.new" --version >&2
mv "$rustc.new" "$rustc"
echo "$rustc"
