#!/usr/bin/env bash
# The other Pythons that this program is for, as far as they are here: `bash scripts/pythons.sh`.
#
# .ci/run tries one Python in full. This tries each further one of 3.11 to 3.13 that is on PATH or among pyenv's: a new virtual environment,
# the README's first command (`pip install .`, the demo), and some of the tests; some minutes each. Those that are not here are named as
# skipped. Ends with 0 when nothing that was tried failed.
#
#   bash scripts/pythons.sh              all that are here, but for the one that .ci/run takes
#   bash scripts/pythons.sh --syntax     a second each: only whether every file compiles, without a warning
#   TESTS="tests" bash scripts/pythons.sh     other tests than the usual ones
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tests=${TESTS:-tests/test_app.py tests/test_cli.py tests/test_config.py tests/test_interrupt.py tests/pipeline tests/sinks tests/sources tests/vision}
work=$(mktemp -d "${TMPDIR:-/tmp}/realtime-pythons.XXXXXX")
trap 'rm -rf "$work"' EXIT

version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true; }

# pyenv's own `python3.12` on PATH runs only where that version is chosen, hence its folder too. Prints nothing where there is none.
find_python() {
  local found
  for found in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    if [ "$(version "$found")" = "$1" ]; then
      echo "$found"
      return
    fi
  done
}

# git's files and new ones, less what is ignored or was deleted: the checkout is not written to.
copy() {
  mkdir -p "$1"
  (
    cd "$top"
    git ls-files -z --cached --others --exclude-standard |
      while IFS= read -r -d '' name; do if [ -e "$name" ]; then printf '%s\0' "$name"; fi; done |
      tar -c --null -T - -f -
  ) | tar -x -C "$1" -f -
}

syntax() {
  copy "$work/syntax-$2"
  (cd "$work/syntax-$2" && "$1" -W error -m compileall -q realtime benchmarks scripts tests build_engines.py)
}

in_full() (
  set -e  # in this subshell, which the caller's `set +e` would spare otherwise
  copy "$work/$2"
  cd "$work/$2"
  "$1" -m venv "$work/venv-$2"
  # shellcheck disable=SC1091
  . "$work/venv-$2/bin/activate"
  pip install --quiet . pytest pytest-xdist hypothesis
  mkdir "$work/elsewhere-$2"
  # Away from the checkout: it is the installed package that must work.
  cd "$work/elsewhere-$2"
  python -m realtime --version
  python -m realtime demo --out "$work/demo-$2" --seconds 3
  for name in demo.mp4 demo.png demo.json; do test -s "$work/demo-$2/$name"; done
  # The tests take the kernels that the demo compiled: the same sources, and the cache goes by their times.
  installed=$(python -c 'import pathlib, realtime; print(pathlib.Path(realtime.__file__).parent)')
  cd "$work/$2"
  cp -Rp "$installed/." realtime/
  find realtime -name '*.pyc' -delete
  # shellcheck disable=SC2086
  pytest $tests
)

try=in_full
if [ "${1:-}" = "--syntax" ]; then try=syntax; fi
own=$(version python3)
failed=""
for wanted in 3.11 3.12 3.13; do
  if [ "$wanted" = "$own" ]; then continue; fi
  python=$(find_python "$wanted")
  if [ -z "$python" ]; then
    echo "Python $wanted: skipped, it is not here"
    continue
  fi
  echo "== Python $wanted ($("$python" --version 2>&1), $try)"
  set +e  # not `|| status=$?`, for which every `set -e` within would be ignored
  "$try" "$python" "$wanted"
  status=$?
  set -e
  if [ "$status" = 0 ]; then echo "Python $wanted: passed"; else failed="$failed $wanted"; fi
done
if [ -n "$failed" ]; then
  echo "failed with Python$failed" >&2
  exit 1
fi
