# Every cpp block of docs/embedding.md compiles, alone, against the headers, and runs. The library
# is the second argument, the headers' folders the third and fourth, the compiler the fifth, flags
# the sixth.
library=$2 own=$3 written=$4 cxx=$5 flags=${6:-}
awk '/^```cpp/ { n++; file = sprintf("block%02d.cpp", n)
       print "#include <rille/rille.hpp>\n#include <cstdio>\nusing namespace rille;" >file
       print "int main() {" >file; on = 1; next }
     /^```/ { if (on) print "}" >file; on = 0 }
     on { print >file }' "$SOURCE/docs/embedding.md"
count=0
for block in block*.cpp; do
  $cxx -std=c++20 $flags -I"$own" -I"$written" "$block" -o run "$library" \
    -Wl,-rpath,"$(dirname "$library")" || { cat "$block"; exit 1; }
  ./run >printed 2>&1 || { cat "$block" printed; exit 1; }
  count=$((count + 1))
done
echo "$count blocks"
[ "$count" -ge 7 ]
