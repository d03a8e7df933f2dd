# Ten runs of the recipes that people start from: the same weights from run to run with as many
# threads; with --deterministic, where the recipe is a declared one, with 1 to 4 threads.
. "$SOURCE/tests/support/shell.sh"
for i in 1 2 3 4 5 6 7 8 9 10; do
  echo "the quick brown fox jumps over the lazy dog and runs into the wood number $i"
done >text.txt

# hash FILE: of the tensors in it.
hash() {
  "$RILLE" run "$SOURCE/tests/support/weights.lua" "$1" weights.safetensors
  sha256sum <weights.safetensors
}

gpt() {
  rm -rf run
  "$RILLE" run "$SOURCE/scripts/char_gpt.lua" --text text.txt --layers 2 --heads 4 --width 64 \
    --context 32 --batch 12 --warmup 5 --steps 50 --out run --set evaluate.batches=2 \
    "$@" >said.txt 2>&1 || fail "the recipe failed: $*" said.txt
  hash run/checkpoints/step-50.safetensors
}

# ten WHAT COMMAND...: ten times the same output.
ten() {
  what=$1
  shift
  first=$("$@")
  for run in 2 3 4 5 6 7 8 9 10; do
    [ "$("$@")" = "$first" ] || fail "$what: run $run came to other weights"
  done
  echo "$what: 10 runs, $first"
}

for threads in 1 2; do
  ten "char_gpt, $threads threads" gpt --threads $threads
done
first=$(gpt --deterministic --threads 1)
for threads in 2 3 4; do
  [ "$(gpt --deterministic --threads $threads)" = "$first" ] ||
    fail "char_gpt --deterministic: $threads threads came to other weights"
done

images=${RILLE_DATA:-$SOURCE/../shared/data}/mnist/t10k-images-idx3-ubyte.gz
labels=${RILLE_DATA:-$SOURCE/../shared/data}/mnist/t10k-labels-idx1-ubyte.gz
[ -f "$images" ] || images=${images%.gz} labels=${labels%.gz}
if [ ! -f "$images" ]; then
  echo "the MNIST images are not here"
  exit 0
fi

mnist() {
  "$RILLE" run "$SOURCE/scripts/mnist.lua" --images "$images" --labels "$labels" --epochs 1 \
    >said.txt 2>&1 || fail "the recipe failed" said.txt
  hash mnist.safetensors
}
for threads in 1 2; do
  export OMP_NUM_THREADS=$threads
  ten "mnist, $threads threads" mnist
done
