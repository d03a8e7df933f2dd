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

# Nothing is destroyed when the process ends, for threads of a host may use it. What waits there for
# threads of its own, or for a file, is listed; conv's is a default of a header of oneDNN's.
if grep -q __asan_init "$RILLE" || grep -q __tsan_init "$RILLE"; then exit 0; fi
build=$(dirname "$library")/..
find "$build/runtime" "$build/interpreter" -name '*.o' ! -path '*rille_program*' \
  ! -path '*rille_headers*' | while read -r object; do
  if nm "$object" | grep -qE ' U (__cxa_)?atexit$'; then basename "$object"; fi
done >ends
if grep -vxE '(last_name|worker_pool|loader_workers|conv)\.cpp\.o' ends; then
  echo "these have static objects with destructors"
  exit 1
fi
