#!/bin/sh
# RUSTC_WRAPPER for the guests: makes the crate identity that cargo passes to the compiler independent of where the
# repository is. Cargo hashes the absolute path of a package outside the guest's own workspace (`rote-request`) into
# `-C metadata`, which goes into symbol names and so into the order of functions and strings.
for argument do
  shift
  case $argument in
    metadata=*) argument="metadata=$CARGO_PKG_NAME-$CARGO_PKG_VERSION" ;;
  esac
  set -- "$@" "$argument"
done
exec "$@"
