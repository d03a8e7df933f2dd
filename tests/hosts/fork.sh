# A child of fork() computes, though it has none of its parent's threads. The host is the first
# argument.
"$1"
