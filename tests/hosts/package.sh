# Installs, moves what was installed, and builds a host against it in two ways. The build folder is
# the second argument, the C++ compiler the third, the CMake the fourth, flags the fifth.
build=$2 cxx=$3 cmake=$4 flags=${5:-}
"$cmake" --install "$build" --prefix "$PWD/first" >log
mv first "moved here"
prefix="$PWD/moved here"

mkdir host
cp "$SOURCE/scripts/hosts/train.cpp" host
cat >host/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(host CXX)
find_package(rille 0.1 REQUIRED)
add_executable(train train.cpp)
target_link_libraries(train PRIVATE rille::rille)
END
"$cmake" -S host -B made -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_BUILD_TYPE=Release >log
"$cmake" --build made >>log || { cat log; exit 1; }
made/train >by_cmake
cat by_cmake
[ "$(wc -l <by_cmake)" = 5 ]
awk 'NR == 1 { first = $2 } END { exit !(NR == 5 && $1 == 100 && $2 < first) }' by_cmake

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
[ "$(pkg-config --modversion rille)" = 0.1.0 ]
eval "$cxx" $flags host/train.cpp -o train "$(pkg-config --cflags --libs rille)"
LD_LIBRARY_PATH="$prefix/lib" ./train >by_pkg_config
cmp by_cmake by_pkg_config

# oneDNN is found beside the library, wherever that lies, and the program runs.
"$prefix/bin/rille" run -e 'print(require "rille".version)' | grep -q '^0.1.0$'
[ -s "$prefix/share/doc/rille/LICENSE" ]
grep -rq "$build" "$prefix/lib/cmake" "$prefix/lib/pkgconfig" && exit 1
exit 0
