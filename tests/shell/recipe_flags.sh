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
says 2 "must be from 1 to 1024, got 100000" recipe --threads 100000
says 2 "'tpu' is no device" recipe --device tpu
says 2 "unexpected word 'word'" recipe word
says 2 "set: takes field=value" recipe --set name
says 1 "'in' must be at least 0, got -4" recipe --width -4

# ---- values of the recipe's fields, by --set or in the file
says 2 "'accumulate' must be an integer of 1 or more, got 0" recipe --set accumulate=0
says 2 "'accumulate' must be an integer of 1 or more, got 1.5" recipe --set accumulate=1.5
says 2 "'clip' must be a number of 0 or more, got -1" recipe --set clip=-1
says 2 "'evaluate.batches' must be an integer of 1 or more, got 0" recipe --set evaluate.batches=0
says 2 "'save.every' must be an integer of 0 or more, got string 'x'" recipe --set save.every=x
says 2 "'on_nonfinite' must be 'error', 'skip' or 'warn', got string 'no'" \
  recipe --set on_nonfinite=no
says 2 "set: 'args.width' is no field of the recipe; use --width" recipe --set args.width=5
says 2 "'args.widht' is no field of the recipe; use --width" recipe --set args.widht=5
says 2 "'args.x' is no field of the recipe; --help lists the flags" recipe --set args.x=5
says 2 "'name' holds no fields, it is a string" recipe --set name.x=5
with() { # with 'LUA' FLAGS...: the recipe r, changed by the code
  code=$1
  shift
  "$RILLE" -e "local r, rille = assert(loadfile 'tiny.lua')(), require 'rille'
    $code
    return require 'rille.recipe.run'(r, arg)" "$@"
}
says 1 "'loss(batch)' must be a tensor of one number, got nil" with 'r.fields.loss = print'
says 1 "'loss(batch)' must be a tensor of one number, got 3" with \
  'r.fields.loss = function() return 3 end'
says 1 "'loss(batch)' must be one number, such as a mean, got f32\[2, 1\]" with \
  'r.fields.loss = function(self, batch) return self.model(batch.x) end'
[ ! -d runs ] || rm -r runs

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

# ---- a link without its ending, another device that is the same, another recipe
says 0 'resumed at step 5' recipe --resume run/checkpoints/last --steps 6
says 0 'resumed at step 6' recipe --resume run --steps 7 --device cpu
says 1 'arguments changed since the checkpoint' with 'r.fields.name = "other"' --resume run
grep -q "the recipe was 'tiny', is 'other'" said || fail "the name is not said" said
says 0 'resumed at step 7' with 'r.fields.name = "other"' --resume run --force --steps 8

# ---- metrics and config that can't be written are told of once; training goes on
says 0 "cannot write 'full/metrics.jsonl': not a regular file; training goes on" with '
  r.fields.log = { every = 1 }
  r.fields.on = { step = function(_, _, step)
    if step == 1 then os.execute "ln -s /dev/full full/metrics.jsonl" end
  end }' --out full
[ "$(grep -c 'metrics.jsonl' said)" = 1 ] || fail "not told once" said
[ -e full/checkpoints/step-5.safetensors ] || fail "the run did not end well"
mkdir -p folders/config.json folders/metrics.jsonl folders/tiny.lua
says 0 "cannot write 'folders/config.json': " recipe --out folders
for name in config.json metrics.jsonl tiny.lua; do
  [ "$(grep -c "cannot write 'folders/$name'.*; training goes on" said)" = 1 ] ||
    fail "$name is not told of once" said
done
says 0 'resumed at step 5' recipe --resume folders --steps 6
