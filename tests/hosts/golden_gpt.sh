# The golden run by a C++ host and by a script: the same bits. And the losses are PyTorch's.
root=${RILLE_DATA:-$SOURCE/../shared/data}
text=$root/text/tinyshakespeare.txt
[ -r "$text" ] || { echo "no $text"; exit 77; }
"$1" "$text" >cpp
"$RILLE" run "$SOURCE/tests/hosts/golden_gpt.lua" "$text" >lua
cat cpp
cmp cpp lua
[ "$(wc -l <cpp)" = 20 ]
[ "$(sed -n 1p cpp | cut -c1-12)" = 4.2378731471 ]
[ "$(sed -n 20p cpp | cut -c1-12)" = 3.7756493754 ]
