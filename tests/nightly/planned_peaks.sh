#!/bin/sh
# The peaks that `rille plan` tells are those of runs, by model, precision and checkpoint policy.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/planned.sh"
cp "$SOURCE/benchmarks/models.lua" .
cp "$SOURCE/tests/support/planned_recipe.lua" planned.lua
planned_within_a_tenth 'mlp off' 'mlp bf16' 'gpt off' 'gpt bf16' 'gpt off cheap' 'gpt bf16 full' \
  'gpt off alternate_mm' 'resnet off' 'resnet bf16' 'resnet off full'
