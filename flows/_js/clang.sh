#!/usr/bin/env bash
# Unpacks Debian's clang 19, which compiles QuickJS, where it is not installed.
#
#   clang.sh PREFIX        prints the path of the compiler, PREFIX/clang
#
# Takes clang, its headers and its libraries from one stable suite, so that everybody gets the same version; needs
# about 500 MB of disk below PREFIX. Idempotent; an interrupted run starts over. `cargo xtask guests` calls it.
set -euo pipefail
prefix=$(realpath -m "${1:?usage: clang.sh PREFIX}")
suite=${GUEST_CLANG_SUITE:-bookworm}
version=19
clang="$prefix/clang"
fail() { echo "clang: $1; or install clang-$version with libclang-common-$version-dev" >&2; exit 1; }
# shellcheck source=xtask/debian.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../xtask/debian.sh"

if [ -x "$clang" ] && "$clang" --version >/dev/null 2>&1; then echo "$clang"; exit 0; fi
rm -f "$clang"
open_suite

# The libraries that the compiler itself loads; not those of the system that it could compile for.
# shellcheck disable=SC2046  # one package a word
unpack "clang-$version" "libclang-common-$version-dev" $(libraries_of "libclang-cpp$version")

# Started by the loader, clang does not know where it lies, so it is told where its headers are.
loader=$(loader)
library=$(dirname "$(find "$root" -name 'libclang-cpp.so.*' | first 1)")
cat >"$clang.new" <<WRAPPER
#!/bin/sh
exec "$loader" --library-path "$(dirname "$loader"):$root/usr/lib/$(basename "$(dirname "$loader")"):$library" \\
  "$root/usr/lib/llvm-$version/bin/clang" -resource-dir "$root/usr/lib/llvm-$version/lib/clang/$version" "\$@"
WRAPPER
chmod +x "$clang.new"
"$clang.new" --version >&2
mv "$clang.new" "$clang"
echo "$clang"
