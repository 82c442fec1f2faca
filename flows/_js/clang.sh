#!/usr/bin/env bash
# Unpacks Debian's clang 19, which compiles QuickJS, where it is not installed.
#
#   clang.sh PREFIX        prints the path of the compiler, PREFIX/clang
#
# Takes clang, its headers and its libraries from one stable suite, so that everybody gets the same version, and
# unpacks them below PREFIX; installs nothing on the system. Needs apt-get, dpkg, a Debian sources entry, the Debian
# archive key and about 500 MB of disk. Idempotent; an interrupted run starts over. `cargo xtask guests` calls it.
set -euo pipefail
prefix=$(realpath -m "${1:?usage: clang.sh PREFIX}")
suite=${GUEST_CLANG_SUITE:-bookworm}
version=19
key=/usr/share/keyrings/debian-archive-keyring.gpg
clang="$prefix/clang"

fail() { echo "clang: $1; or install clang-$version with libclang-common-$version-dev" >&2; exit 1; }

if [ -x "$clang" ] && "$clang" --version >/dev/null 2>&1; then echo "$clang"; exit 0; fi

for tool in apt-get apt-cache dpkg; do command -v "$tool" >/dev/null || fail "\`$tool\` is missing"; done
[ -r "$key" ] || fail "the Debian archive key \`$key\` is missing"
# `awk` reads to the end, since a broken pipe would end the script; a missing file leaves the text empty.
first() { awk -v column="$1" 'NR == 1 {print $column}'; }
mirror=$({ grep -hsE '^URIs:' /etc/apt/sources.list.d/*.sources || true; } | first 2)
[ -n "$mirror" ] || mirror=$({ grep -ohsE 'https?://[^ ]+' /etc/apt/sources.list || true; } | first 1)
[ -n "$mirror" ] || fail "no Debian mirror is configured"

root="$prefix/root"; work="$prefix/work"
rm -rf "$root" "$work" "$clang"
mkdir -p "$root" "$work/lists/partial" "$work/archives/partial" "$work/debs"
echo "deb [signed-by=$key] $mirror $suite main" >"$work/sources.list"
options=(-qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update >&2

# The libraries that the compiler itself loads; not those of the system that it could compile for.
libraries=$(apt-cache "${options[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts \
  --no-breaks --no-replaces --no-enhances "libclang-cpp$version" | grep -E '^(lib|zlib)' | sort -u)
# shellcheck disable=SC2086  # one package a word
(cd "$work/debs" && apt-get "${options[@]}" download \
  "clang-$version" "libclang-common-$version-dev" $libraries libc6 >&2)
for package in "$work"/debs/*.deb; do dpkg -x "$package" "$root"; done
rm -rf "$work"

# The compiler runs with the C library that it came with, so that the system's may be another. Started by the loader,
# it does not know where it lies, so it is told where its headers are.
loader=$(find "$root/lib" "$root/usr/lib" -name 'ld-linux*.so.*' 2>/dev/null | first 1)
[ -n "$loader" ] || fail "the unpacked C library has no loader"
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
