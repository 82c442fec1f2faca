#!/usr/bin/env bash
# Unpacks a Rust compiler for wasm32-unknown-unknown where `rustup target add` is not possible.
#
#   guest-toolchain.sh PREFIX        prints the path of the compiler, PREFIX/rustc
#
# Takes Debian's own rustc and libstd-rust-dev-wasm32, with the C library that they were built for, and unpacks
# them below PREFIX; installs nothing on the system. Needs apt-get, dpkg, a Debian sources entry, the Debian
# archive key and about 800 MB of disk. Idempotent; an interrupted run starts over. `cargo xtask guests` calls it.
set -euo pipefail
prefix=$(realpath -m "${1:?usage: guest-toolchain.sh PREFIX}")
suite=${GUEST_SUITE:-forky}
key=/usr/share/keyrings/debian-archive-keyring.gpg
rustc="$prefix/rustc"

fail() { echo "guest-toolchain: $1; or install the target: rustup target add wasm32-unknown-unknown" >&2; exit 1; }

if [ -x "$rustc" ] && "$rustc" --version >/dev/null 2>&1; then echo "$rustc"; exit 0; fi

for tool in apt-get apt-cache dpkg; do command -v "$tool" >/dev/null || fail "\`$tool\` is missing"; done
[ -r "$key" ] || fail "the Debian archive key \`$key\` is missing"
# `awk` reads to the end, since a broken pipe would end the script; a missing file leaves the text empty.
first() { awk -v column="$1" 'NR == 1 {print $column}'; }
mirror=$({ grep -hsE '^URIs:' /etc/apt/sources.list.d/*.sources || true; } | first 2)
[ -n "$mirror" ] || mirror=$({ grep -ohsE 'https?://[^ ]+' /etc/apt/sources.list || true; } | first 1)
[ -n "$mirror" ] || fail "no Debian mirror is configured"

root="$prefix/root"; work="$prefix/work"
rm -rf "$root" "$work" "$rustc"
mkdir -p "$root" "$work/lists/partial" "$work/archives/partial" "$work/debs"
echo "deb [signed-by=$key] $mirror $suite main" >"$work/sources.list"
options=(-qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update >&2

# The versioned packages behind the unversioned names, then every library that the compiler links.
depends() { apt-cache "${options[@]}" depends "$1" | awk -v name="$2" '$1 == "Depends:" && $2 ~ name && !n++ {print $2}'; }
standard=$(depends libstd-rust-dev '^libstd-rust-[0-9]')
[ -n "$standard" ] || fail "suite \`$suite\` has no Rust library"
llvm=$(depends "$standard" '^libllvm')
[ -n "$llvm" ] || fail "suite \`$suite\` has no Rust compiler"
libraries=$(apt-cache "${options[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts \
  --no-breaks --no-replaces --no-enhances "$llvm" | grep -E '^(lib|zlib)' | sort -u)
# shellcheck disable=SC2086  # one package a word
(cd "$work/debs" && apt-get "${options[@]}" download \
  rustc libstd-rust-dev libstd-rust-dev-wasm32 "$standard" $libraries libc6 >&2)
for package in "$work"/debs/*.deb; do dpkg -x "$package" "$root"; done
rm -rf "$work"

# The compiler runs with the C library that it came with, so that the system's may be older.
loader=$(find "$root/usr/lib" -name 'ld-linux*.so.*' | first 1)
[ -n "$loader" ] || fail "the unpacked C library has no loader"
cat >"$rustc.new" <<WRAPPER
#!/bin/sh
exec "$loader" --library-path "$(dirname "$loader")" --argv0 "$root/usr/bin/rustc" \\
  "$root/usr/bin/rustc" --sysroot "$root/usr" "\$@"
WRAPPER
chmod +x "$rustc.new"
"$rustc.new" --version >&2
mv "$rustc.new" "$rustc"
echo "$rustc"
