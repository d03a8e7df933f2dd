# The declared GPT for a few steps on a text made here: it learns, saves, and goes on from there.
for i in 1 2 3 4 5 6 7 8 9 10; do
  echo "the quick brown fox jumps over the lazy dog and runs into the wood number $i"
done >text.txt
small="--text text.txt --layers 1 --heads 2 --width 16 --context 16 --batch 4 --warmup 2"
"$RILLE" run "$1" $small --steps 6 --out run --set evaluate.batches=2 --set save.every=3
test -f run/config.json
test -f run/metrics.jsonl
test -f run/checkpoints/step-6.safetensors
"$RILLE" run "$1" $small --steps 8 --out run --resume --set evaluate.batches=2
