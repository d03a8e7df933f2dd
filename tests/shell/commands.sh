# Commands, their help, and what wrong usage gives: status 2, and a line that says why.
. "$SOURCE/tests/support/shell.sh"

says 0 'usage: rille COMMAND' "$RILLE" help
says 0 'usage: rille COMMAND' "$RILLE" --help
says 0 'rille [0-9]' "$RILLE" --version
for command in run help info selftest bench; do
  says 0 "usage: rille $command" "$RILLE" help $command
  says 0 "usage: rille $command" "$RILLE" $command --help
done
says 0 'rille.matmul(x, y)' "$RILLE" help matmul
says 0 'rille.gelu' "$RILLE" help rille.gelu
says 0 '^threads' "$RILLE" info

says 0 '^42$' sh -c "echo 'print(6 * 7)' | '$RILLE'"
says 1 'stdin:1.*oops' sh -c "echo 'error \"oops\"' | '$RILLE' repl"
says 2 'usage: rille repl' "$RILLE" repl a b
says 2 "no command and no script 'nosuch'" "$RILLE" nosuch
says 2 "did you mean 'info'" "$RILLE" inf
says 0 'rille.nn.Linear(in, out, { bias = true, device, dtype })' "$RILLE" help nn.Linear
says 0 'state_dtype' "$RILLE" help optim.AdamW
says 2 "no command and no name 'sofmax' (did you mean 'softmax'?)" "$RILLE" help sofmax
says 2 "no name 'nn.Linaer' (did you mean 'nn.Linear'?)" "$RILLE" help nn.Linaer
says 2 'usage: rille help' "$RILLE" help a b
says 2 'usage: rille info' "$RILLE" info x
says 2 'usage: rille run' "$RILLE" run
says 2 'usage: rille run' "$RILLE" -e
says 2 "no option '--bogus'" "$RILLE" selftest --bogus
says 2 "--device takes 'cpu', got 'tpu'" "$RILLE" selftest relu --device tpu
says 0 '"name":"relu"' "$RILLE" selftest relu --device cpu --perf
says 2 "no op 'nosuch'" "$RILLE" selftest nosuch
says 2 'usage: rille bench' "$RILLE" bench --bogus
says 2 "no op 'nosuch'" "$RILLE" bench nosuch

says 0 '0 failed' "$RILLE" selftest relu add --grad
says 0 '"name":"add"' "$RILLE" bench add
says 0 '"median_ns":[0-9]' "$RILLE" bench exp

# ---- a library of products that was built is found
"$RILLE" info >said
! grep -q '^products.*not found' said || fail "the library of products is not found" said
