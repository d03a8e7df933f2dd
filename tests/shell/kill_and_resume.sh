# A run that is killed at any moment and goes on ends with the bits of the run that nobody killed.
. "$SOURCE/tests/support/kill_rounds.sh"
kill_rounds 8 "${RILLE_TEST_SEED:-1}"
