# The plain loop on the real images, one epoch: well above chance.
data=${RILLE_DATA:-$SOURCE/../shared/data}/mnist
if [ ! -f "$data/t10k-images-idx3-ubyte.gz" ]; then
  echo "the MNIST images are not here"
  exit 77
fi
"$RILLE" run "$1" --images "$data/t10k-images-idx3-ubyte.gz" \
  --labels "$data/t10k-labels-idx1-ubyte.gz" --epochs 1 >said.txt
cat said.txt
grep -qE 'accuracy (9[0-9]|100)' said.txt
test -f mnist.safetensors
