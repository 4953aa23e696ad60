#!/bin/sh
# Install trainledger with its locked packages: sh install.sh [FOLDER], /opt/trainledger unless named. What is in the folder goes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-/opt/trainledger}
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || {
  echo "trainledger needs Python 3.11, 3.12 or 3.13, and $python is none of them. Name one: PYTHON=/path/to/python3.12 sh $0" >&2
  exit 2
}
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"$python" -m venv "$tools"
"$tools/bin/pip" install -q --no-cache-dir --disable-pip-version-check --require-hashes -r "$here/bootstrap.lock"
"$python" -m venv --clear --without-pip "$into"
# with bytecode: a service has no right to write it
install_into() { "$tools/bin/uv" pip install -q --no-cache --compile-bytecode --python "$into/bin/python" "$@"; }
install_into --require-hashes -r "$here/deploy.lock"
install_into --no-index --no-deps "$here"/trainledger-*.whl
"$into/bin/trainledger" --version
