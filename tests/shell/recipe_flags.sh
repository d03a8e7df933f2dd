# A recipe's command line, and the folders and checkpoints it names.
. "$SOURCE/tests/support/shell.sh"
cp "$SOURCE/tests/support/tiny_recipe.lua" tiny.lua
recipe() { "$RILLE" tiny.lua "$@"; }

says 0 'usage: rille run tiny.lua' recipe --help
says 2 "unknown flag '--bogus'" recipe --bogus 3
says 2 'steps: needs a value' recipe --steps
says 2 "steps: must be an integer, got 'x'" recipe --steps x
says 2 "steps: must be at least 0, got '-1'" recipe --steps -1
says 2 "must be an integer, got '99999999999999999999'" recipe --steps 99999999999999999999
says 2 'threads: must be at least 1' recipe --threads 0
says 1 "must be from 1 to 1024, got 100000" recipe --threads 100000
says 1 "'tpu' is no device" recipe --device tpu
says 2 "unexpected word 'word'" recipe word
says 2 "set: takes field=value" recipe --set name
says 1 "'in' must be at least 0, got -4" recipe --width -4

says 4 "no checkpoint in 'none'" recipe --resume none
says 4 "no run of 'tiny' with a checkpoint" recipe --resume
says 4 "cannot open 'none.safetensors': No such file" recipe --resume none.safetensors
: >file
says 1 "cannot make the folder 'file/checkpoints': Not a directory" recipe --out file
[ -f file ] && [ ! -d runs ] || fail "something was made"

recipe --out run
head -c 100 run/checkpoints/last.safetensors >cut.safetensors
says 4 "'cut.safetensors'" recipe --resume cut.safetensors
cp -r run torn
for f in torn/checkpoints/*.safetensors; do echo junk >"$f"; done
says 4 'no usable checkpoint' recipe --resume torn --steps 9
says 1 'width was 4, is 8' recipe --resume run --width 8 --steps 9
says 1 'weight: is \[1, 8\], the file has \[1, 4\]' recipe --resume run --width 8 --steps 9 --force
