# In f16 the scale stays or halves; a bf16 loss needs none, so the scaler says so and does nothing.
"$RILLE" run "$1" --steps 20 >said.txt
grep -qE '^step 20  norm 0\.[0-9]+  scale (65536|32768|16384)$' said.txt
"$RILLE" run "$1" --steps 20 --dtype bf16 >said.txt 2>warned.txt
grep -qE '^step 20  norm 0\.[0-9]+  scale 1$' said.txt
grep -q 'the scaler is disabled' warned.txt
