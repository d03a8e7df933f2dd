# Every opt level runs, and ends with the scale that its rules say: gradients are small here, so no
# step overflows.
for level in O0 O1 O2 O3; do
  "$RILLE" run "$1" --opt-level $level --steps 4 >said.txt
  grep -q "^opt level $level" said.txt
  [ "$(tail -n 1 said.txt)" = 65536.0 ]
done
"$RILLE" run "$1" --loss-scale 128 --steps 2 | tail -n 1 | grep -qx 128.0
