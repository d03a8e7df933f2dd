# For tests of `rille plan`: planned.lua, which is planned_recipe.lua, and models.lua lie here.

# planned_within_a_tenth 'KIND AMP [BLOCKS]'...: the planned peak is that of a run's fourth step.
planned_within_a_tenth() {
  for setting in "$@"; do
    # shellcheck disable=SC2086
    set -- $setting
    blocks=${3:-off}
    told=$("$RILLE" plan --json planned.lua --kind "$1" --amp "$2" --checkpoint-blocks "$blocks" |
      sed -n "s/.*\"blocks\":\"$blocks\".*\"peak_bytes\":\([0-9]*\).*/\1/p")
    "$RILLE" planned.lua --kind "$1" --amp "$2" --checkpoint-blocks "$blocks" --out run --force \
      >said 2>&1
    measured=$(sed -n 's/^measured //p' said)
    [ -n "$told" ] && [ -n "$measured" ] || fail "no figures of $setting" said
    off=$(((told - measured) * 100 / measured))
    [ "${off#-}" -le 10 ] || fail "$setting: $told planned, $measured measured"
  done
}
