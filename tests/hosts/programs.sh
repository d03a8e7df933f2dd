# The programs of scripts/hosts, built against the library as hosts are, print what they should.
# The library is the second argument, the headers' folders the third and fourth, the compilers the
# fifth (C++) and sixth (C), flags the seventh.
library=$2 own=$3 written=$4 cxx=$5 cc=$6 flags=${7:-}
rpath="-Wl,-rpath,$(dirname "$library")"
hosts=$SOURCE/scripts/hosts
for name in host two_interpreters; do
  $cxx -std=c++20 $flags -I"$own" -I"$written" "$hosts/$name.cpp" -o $name "$library" "$rpath" \
    -pthread
done
$cc -std=c99 -pedantic -Wall -Wextra -Werror $flags -I"$own" "$hosts/host.c" -o host_c \
  "$library" "$rpath"
$cxx -x c++ -std=c++17 -pedantic -Werror $flags -I"$own" -fsyntax-only "$hosts/host.c"

# All samples are equal, so gradient descent is a geometric series: the error of every output falls
# by 1 - 2 lr (|x|^2 + 1) = 0.94 a step, its square by 0.94^20 in ten.
cp "$hosts/fit.lua" .
./host >printed
cat printed
awk '$1 != 10 * NR { exit 1 }
     NR > 1 && ($2 / last < 0.99 * 0.94 ^ 20 || $2 / last > 1.01 * 0.94 ^ 20) { exit 1 }
     { last = $2 }
     END { if (NR != 5) exit 1 }' printed

./two_interpreters >printed
printf 'the same seed: equal losses\nanother seed: other losses\ntrained: yes\n' | diff - printed

./host_c >printed
diff - printed <<'END'
total    21.5  (1 call of the host's function)
memory   2 7  (the script added 1)
columns  70 90 110  (2 dims)
error    E_ARG recipe:1: add takes two numbers
limit    E_BUDGET
END

if [ -z "$flags" ]; then
  $cc -std=c99 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$own" "$SOURCE/tests/hosts/reopen.c" \
    -o reopen -ldl
  ./reopen "$library"
fi

if [ -z "$flags" ] && command -v python3 >/dev/null; then
  python3 "$hosts/host_ctypes.py" "$library" >printed
  diff - printed <<'END'
total    5.0
memory   [10.0, 20.0, 30.0, 40.0]
error    E_HOST python:2 KeyError('missing')
error    E_SHAPE
END
fi
