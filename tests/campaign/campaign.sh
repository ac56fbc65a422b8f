#!/bin/sh
# campaign.sh [MINUTES|quick] [--only PART] [--seed N] [--plant DEFECT] [--no-faults] [--figures FILE]: see --help.
# Needs an optimised build with tests (cmake --preset release -DBUILD_TESTING=ON) and, for sanitizers, one of preset debug.
set -eu
exec python3 -B "$(dirname "$0")/campaign.py" "$@"
