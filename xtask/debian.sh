# Sourced by the scripts that unpack a compiler of Debian's: opens a suite and unpacks packages below a prefix,
# without installing anything. The caller defines `fail MESSAGE`, and sets `prefix` and `suite`.
#
# Needs apt-get, dpkg, a Debian sources entry and the Debian archive key.

# Prints a column of the first line. It reads to the end, since a broken pipe would end the script.
first() { awk -v column="$1" 'NR == 1 {print $column}'; }

# Makes `$root` empty, reads the suite's lists, and sets `options` for apt.
open_suite() {
  local key=/usr/share/keyrings/debian-archive-keyring.gpg mirror tool
  for tool in apt-get apt-cache dpkg; do command -v "$tool" >/dev/null || fail "\`$tool\` is missing"; done
  [ -r "$key" ] || fail "the Debian archive key \`$key\` is missing"
  # A missing file leaves the text empty.
  mirror=$({ grep -hsE '^URIs:' /etc/apt/sources.list.d/*.sources || true; } | first 2)
  [ -n "$mirror" ] || mirror=$({ grep -ohsE 'https?://[^ ]+' /etc/apt/sources.list || true; } | first 1)
  [ -n "$mirror" ] || fail "no Debian mirror is configured"
  root="$prefix/root" work="$prefix/work"
  rm -rf "$root" "$work"
  mkdir -p "$root" "$work/lists/partial" "$work/archives/partial" "$work/debs"
  echo "deb [signed-by=$key] $mirror $suite main" >"$work/sources.list"
  options=(-qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update >&2
}

# Prints the libraries that a package needs, those that it needs by others included.
libraries_of() {
  apt-cache "${options[@]}" depends --recurse --no-recommends --no-suggests --no-conflicts \
    --no-breaks --no-replaces --no-enhances "$1" | grep -E '^(lib|zlib)' | sort -u
}

# Unpacks packages below `$root`, with the C library that they were built for, and removes what was fetched.
unpack() {
  (cd "$work/debs" && apt-get "${options[@]}" download "$@" libc6 >&2)
  local package
  for package in "$work"/debs/*.deb; do dpkg -x "$package" "$root"; done
  rm -rf "$work"
}

# Prints the loader of the unpacked C library: a program that it starts runs with that library, so that the
# system's may be another.
loader() {
  local found
  found=$(find "$root/lib" "$root/usr/lib" -name 'ld-linux*.so.*' 2>/dev/null | first 1)
  [ -n "$found" ] || fail "the unpacked C library has no loader"
  echo "$found"
}
