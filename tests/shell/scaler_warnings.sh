# What mixed precision warns of: once for each place, with the lines, and nothing where all is well.
. "$SOURCE/tests/support/shell.sh"

# said_is TEXT: what the last command said, whole.
said_is() {
  printf '%s\n' "$1" >wanted
  diff -u wanted said || fail "another text"
}

cat >clip.lua <<'LUA'
local rille = require "rille"
local model = rille.nn.Linear(2, 1)
local opt = rille.optim.SGD(model:parameters())
local scaler = rille.amp.GradScaler()
for _ = 1, 3 do
  scaler:scale(model(rille.ones(3, 2)):sum()):backward()
  if arg[1] == "unscaled" then scaler:unscale_(opt) end
  rille.nn.utils.clip_grad_norm_(model:parameters(), 1.0)
  rille.nn.utils.clip_grad_value_(model:parameters(), 1.0)
  scaler:step(opt)
  scaler:update()
  opt:zero_grad()
end
LUA
says 0 '' "$RILLE" run clip.lua
are="these gradients are of a loss that was scaled at clip.lua:6; scaler:unscale_(optimizer) comes"
said_is "rille: warning: W_CLIP_SCALED: clip.lua:8: clip_grad_norm_: $are before clipping
rille: warning: W_CLIP_SCALED: clip.lua:9: clip_grad_value_: $are before clipping"
for op in clip_grad_norm_ clip_grad_value_; do
  { echo 'require "rille".strict(true)'; grep -v -e "$op" clip.lua; } >strict.lua
  says 1 "^strict.lua:9: clip_grad_.*: these gradients are .* scaled at strict.lua:7" \
    "$RILLE" run strict.lua
done
says 0 '' "$RILLE" run clip.lua unscaled
[ ! -s said ] || fail "a warning without a reason" said

cat >bf16.lua <<'LUA'
local rille = require "rille"
for _ = 1, 2 do rille.amp.GradScaler():scale(rille.ones(1, { dtype = "bf16" })) end
LUA
says 0 '' "$RILLE" run bf16.lua
because="the loss was computed in bf16, which has the range of f32 (force = true keeps a scaler)"
said_is "rille: warning: amp.GradScaler: $because, so the scaler is disabled"

if ! "$RILLE" -e 'require "rille".zeros(1, { device = "cuda" })' >said 2>&1; then
  says 0 'warning: amp.GradScaler: .*, so the scaler is disabled' "$RILLE" -e \
    'assert(not require "rille".amp.GradScaler { device = "cuda" }:is_enabled())'
fi

# Gradients that f16 is about to lose, without a scaler: said once for each optimizer, with figures.
cat >flushed.lua <<'LUA'
local rille = require "rille"
local nn, amp = rille.nn, rille.amp
rille.seed(0)
local model = nn.Sequential(nn.Linear(16, 64), nn.Linear(64, 8))
local opt = rille.optim.SGD(model:parameters(), { lr = 0.1 })
local scaler = amp.GradScaler { enabled = arg[1] == "scaled" }
local factor = tonumber(arg[3]) or 1e-3
for _ = 1, 3 do
  local loss = amp.autocast({ dtype = arg[2] or "f16" }, function()
    return rille.mse_loss(model(rille.randn(32, 16)), rille.zeros(32, 8)) * factor
  end)
  scaler:scale(loss):backward()
  scaler:step(opt)
  scaler:update()
  opt:zero_grad()
end
LUA
says 0 '^rille: warning: W_F16_NO_SCALER: flushed.lua:13: SGD.step: [0-9.]* % of the gradients' \
  "$RILLE" run flushed.lua
[ "$(grep -c W_F16 said)" = 1 ] || fail "not once" said
grep -q "'1.weight'" said || fail "without the parameters" said
says 0 'SGD.step: all gradients are 0, which small ones become in f16: .*1.weight' \
  "$RILLE" run flushed.lua plain f16 1e-12
says 0 '' "$RILLE" run flushed.lua scaled
[ ! -s said ] || fail "a warning in spite of the scaler" said
says 0 '' "$RILLE" run flushed.lua plain bf16
[ ! -s said ] || fail "a warning in bf16" said
