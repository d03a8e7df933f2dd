# A hundred runs that are killed at random moments, another seed each night.
. "$SOURCE/tests/support/kill_rounds.sh"
kill_rounds 100 "${RILLE_TEST_SEED:-$(date +%s)}"
