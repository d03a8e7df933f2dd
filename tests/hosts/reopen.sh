# The library is loaded, used and let go of again and again (reopen.c). It is the second argument,
# the headers' folder the third, the C compiler the fourth, flags the fifth.
library=$2 own=$3 cc=$4 flags=${5:-}
[ -z "$flags" ] || { echo "a sanitizer can't be loaded later than the program"; exit 77; }
$cc -std=c99 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$own" "$SOURCE/tests/hosts/reopen.c" \
  -o reopen -ldl
./reopen "$library"
