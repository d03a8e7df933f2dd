# The process ends well while another of its threads computes, or runs a script. The host is the
# first argument. A fault shows in a few of a hundred ends.
for i in $(seq 30); do
  "$1" engine
  "$1" script
done
