# Layers, random numbers and optimizers give the same bits from C++ and from a script.
"$1" >cpp
"$RILLE" run "$SOURCE/tests/hosts/same_bits.lua" >lua
cmp cpp lua
[ "$(wc -l <cpp)" -gt 500 ]
