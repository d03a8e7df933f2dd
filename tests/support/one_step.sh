#!/bin/sh
# A recipe without a test of its own (tests/recipes/NAME.sh) must at least take one step.
exec "$RILLE" run "$1" --fast-dev-run
