/* Preloaded into a program, makes its N-th allocation fail: FAILING_MALLOC_AT=N, and
   FAILING_MALLOC_COUNT=k lets k in a row fail (default 1, 0 means every one from then on).
   Counted from the first line of main, since nobody can catch what fails before it. Allocations of
   the C library, the loader and libgomp are let through uncounted: those answer a failure by ending
   the process, which is not ours to mend. Says on standard error that a failure was given,
   so that the caller knows when N has passed the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static atomic_long calls;
static atomic_int in_main;
static long first = -1, last;

__attribute__((constructor)) static void read_settings(void) {
  const char* at = getenv("FAILING_MALLOC_AT");
  const char* count = getenv("FAILING_MALLOC_COUNT");
  const long n = count ? atol(count) : 1;
  if (at == NULL) return;
  first = atol(at);
  last = n == 0 ? __LONG_MAX__ : first + n - 1;
}

/* Not by dladdr, which looks through all symbols: some tests allocate millions of times. */
static int is_spared(void* caller) {
  struct dl_find_object found;
  if (_dl_find_object(caller, &found) != 0) return 1;
  const char* name = found.dlfo_link_map->l_name;
  return strstr(name, "libgomp") || strstr(name, "/libc.so") || strstr(name, "/ld-linux") ||
         strstr(name, "libdl");
}

static int fails(void* caller) {
  if (first < 0 || !atomic_load_explicit(&in_main, memory_order_relaxed) || is_spared(caller))
    return 0;
  const long call = atomic_fetch_add(&calls, 1) + 1;
  if (call < first || call > last) return 0;
  static const char note[] = "failing_malloc: gave a failure\n";
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (!atomic_flag_test_and_set(&said) && write(2, note, sizeof note - 1) < 0) _exit(99);
  errno = ENOMEM;
  return 1;
}

typedef int Main(int, char**, char**);
typedef int StartMain(Main*, int, char**, void (*)(void), void (*)(void), void (*)(void), void*);
static Main* program;

static int counted_main(int argc, char** argv, char** environment) {
  atomic_store(&in_main, 1);
  const int status = program(argc, argv, environment);
  atomic_store(&in_main, 0);
  return status;
}

__attribute__((visibility("default"))) int __libc_start_main(Main* main, int argc, char** argv,
                                                             void (*init)(void), void (*fini)(void),
                                                             void (*rtld_fini)(void), void* stack) {
  StartMain* next = (StartMain*)dlsym(RTLD_NEXT, "__libc_start_main");
  program = main;
  return next(counted_main, argc, argv, init, fini, rtld_fini, stack);
}

#define CALLER __builtin_return_address(0)

__attribute__((visibility("default"))) void* malloc(size_t size) {
  return fails(CALLER) ? NULL : __libc_malloc(size);
}
__attribute__((visibility("default"))) void* calloc(size_t count, size_t size) {
  return fails(CALLER) ? NULL : __libc_calloc(count, size);
}
__attribute__((visibility("default"))) void* realloc(void* old, size_t size) {
  return fails(CALLER) ? NULL : __libc_realloc(old, size);
}
__attribute__((visibility("default"))) void* memalign(size_t align, size_t size) {
  return fails(CALLER) ? NULL : __libc_memalign(align, size);
}
__attribute__((visibility("default"))) void* aligned_alloc(size_t align, size_t size) {
  return fails(CALLER) ? NULL : __libc_memalign(align, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t align, size_t size) {
  if (fails(CALLER)) return ENOMEM;
  *out = __libc_memalign(align, size);
  return *out ? 0 : ENOMEM;
}
