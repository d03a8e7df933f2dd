# Neither an interrupt nor a time limit tears a step, or says anything of the library's own scopes.
# The host is the first argument.
"$1" interrupt
"$1" limit
