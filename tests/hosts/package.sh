# Installs, moves what was installed, and builds the programs of scripts/hosts against it: all by
# find_package (package/CMakeLists.txt), train.cpp and host.c by pkg-config, too. They print what
# they should. The build folder is the second argument, the compilers the third (C++) and fourth
# (C), the CMake the fifth, flags the sixth.
build=$2 cxx=$3 cc=$4 cmake=$5 flags=${6:-}
hosts=$SOURCE/scripts/hosts
"$cmake" --install "$build" --prefix "$PWD/first" >log
mv first "moved here"
prefix="$PWD/moved here"

# Nothing is looked for where it was built.
find "$prefix" -name '*.so*' -type f -o -path '*/bin/*' -type f | while read -r file; do
  if grep -aqF "$build/lib" "$file"; then echo "$file names the build folder" && exit 1; fi
  if readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -v '\[\$ORIGIN\]'; then exit 1; fi
done

"$cmake" -G Ninja -S "$SOURCE/tests/hosts/package" -B made -DHOSTS="$hosts" \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_C_FLAGS="$flags" >log || { cat log; exit 1; }
"$cmake" --build made --parallel 2 >>log || { cat log; exit 1; }

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
[ "$(pkg-config --modversion rille)" = 0.1.0 ]
found=$(pkg-config --cflags --libs rille)
eval "$cxx" -std=c++20 $flags "$hosts/train.cpp" -o train "$found"
eval "$cc" -std=c99 -pedantic -Wall -Wextra -Werror $flags "$hosts/host.c" -o host_c "$found"
eval "$cxx" -x c++ -std=c++17 -pedantic -Werror $flags -fsyntax-only "$hosts/host.c" \
  "$(pkg-config --cflags rille)"
LD_LIBRARY_PATH="$prefix/lib" ./train >by_pkg_config
LD_LIBRARY_PATH="$prefix/lib" ./host_c >host_by_pkg_config

made/train >printed
cat printed
awk 'NR == 1 { first = $2 } END { exit !(NR == 5 && $1 == 100 && $2 < first) }' printed
cmp printed by_pkg_config

# All samples are equal, so gradient descent is a geometric series: the error of every output falls
# by 1 - 2 lr (|x|^2 + 1) = 0.94 a step, its square by 0.94^20 in ten.
cp "$hosts/fit.lua" .
made/host >printed
cat printed
awk '$1 != 10 * NR { exit 1 }
     NR > 1 && ($2 / last < 0.99 * 0.94 ^ 20 || $2 / last > 1.01 * 0.94 ^ 20) { exit 1 }
     { last = $2 }
     END { if (NR != 5) exit 1 }' printed

made/two_interpreters >printed
printf 'the same seed: equal losses\nanother seed: other losses\ntrained: yes\n' | diff - printed

made/host_c >printed
diff - printed <<'END'
total    21.5  (1 call of the host's function)
memory   2 7  (the script added 1)
columns  70 90 110  (2 dims)
error    E_ARG recipe:1: add takes two numbers
limit    E_BUDGET
learned  0 1 1 0  (4 parameters)
END
cmp printed host_by_pkg_config

if [ -z "$flags" ] && command -v python3 >/dev/null; then
  python3 "$hosts/host_ctypes.py" "$prefix/lib/librille.so" >printed
  diff - printed <<'END'
total    5.0
memory   [10.0, 20.0, 30.0, 40.0]
error    E_HOST python:2 KeyError('missing')
error    E_SHAPE
END
fi

# oneDNN is found beside the library, wherever that lies, and the program runs.
"$prefix/bin/rille" run -e 'print(require "rille".version)' | grep -q '^0.1.0$'
[ -s "$prefix/share/doc/rille/LICENSE" ]
if grep -q '^RILLE_ONEDNN:.*=wheel' "$build/CMakeCache.txt" &&
   grep -q '^dnnl_DIR:PATH=/' "$build/CMakeCache.txt"; then
  [ -s "$prefix/share/doc/rille/onednn/LICENSE" ]
  [ -s "$prefix/share/doc/rille/onednn/THIRD-PARTY-PROGRAMS" ]
fi
grep -rq "$build" "$prefix/lib/cmake" "$prefix/lib/pkgconfig" && exit 1
exit 0
