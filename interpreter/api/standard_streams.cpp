// Lua's static archive is not compiled for shared libraries. All that stands in the way are its
// references to the three streams of the C library, which such a library cannot have at a fixed
// place: the linker (--wrap) leads them here instead. Compiled only where that archive is linked.
#include <cstdio>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.
extern FILE *__real_stdin, *__real_stdout, *__real_stderr;
FILE *__wrap_stdin __attribute__((used)), *__wrap_stdout __attribute__((used)),
    *__wrap_stderr __attribute__((used));
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

// Before all other initialisers, which might write.
__attribute__((constructor(101))) void take_streams() {
  __wrap_stdin = __real_stdin;
  __wrap_stdout = __real_stdout;
  __wrap_stderr = __real_stderr;
}

}  // namespace
