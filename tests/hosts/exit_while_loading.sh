# A host that ends in the middle of an epoch ends well. The host is the first argument.
for _ in 1 2 3 4 5; do "$1"; done
