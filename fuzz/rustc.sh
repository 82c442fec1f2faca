#!/bin/sh
# Cargo calls this in place of rustc for the workspace's own crates: they get the counters that libFuzzer reads. Its flags
# are stable. Dependencies are built as ever, so that a build of the workspace and one of the fuzz targets share them.
case " $* " in
  # What runs while building is not linked with libFuzzer.
  *" --crate-name build_script_build "* | *" --crate-type proc-macro "* | *" --print "*) exec "$@" ;;
esac
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares -Copt-level=1 -Ccodegen-units=16
