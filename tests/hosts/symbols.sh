# What librille shows is the C++ interface and the C one, and it needs no Lua of the system's.
# The library is the second argument.
library=$2
nm -D --defined-only "$library" | awk '{ print $3 }' >shown
grep -Ev '^(_ZNK?5rille2v1|_ZT[ISV]N5rille2v1|rille_)' shown && exit 1
grep -q '^_ZN5rille2v16Tensor' shown
readelf -d "$library" >dynamic
grep -q 'soname: \[librille.so.0\]' dynamic
grep -q NODELETE dynamic
if grep -E 'NEEDED.*lua|TEXTREL' dynamic; then exit 1; fi
