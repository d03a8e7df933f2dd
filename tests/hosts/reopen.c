/* Loads librille, runs a recipe and lets go of it, 200 times: nothing breaks, nothing piles up.
 * Its path is the argument. */
#include <dlfcn.h>
#include <rille/rille_c.h>
#include <stdio.h>
#include <unistd.h>

static long resident_pages(void) {
  long all = 0, pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) pages = -1;
  if (file) fclose(file);
  return pages;
}

static const char recipe[] =
    "local rille = require 'rille' local w = rille.ones(64, 64, { requires_grad = true })"
    " w:matmul(w):sum():backward() total = w.grad:sum():item()";

static int once(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  rille_status (*open)(const rille_options*, rille_interpreter**, rille_error**);
  rille_status (*run)(rille_interpreter*, const char*, size_t, const char*, rille_error**);
  void (*close)(rille_interpreter*);
  rille_interpreter* lua = NULL;
  int ok;
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 0;
  }
  *(void**)&open = dlsym(library, "rille_open");
  *(void**)&run = dlsym(library, "rille_run_string");
  *(void**)&close = dlsym(library, "rille_interpreter_delete");
  ok = open && run && close && open(NULL, &lua, NULL) == RILLE_OK &&
       run(lua, recipe, sizeof recipe - 1, "recipe", NULL) == RILLE_OK;
  if (close) close(lua);
  return dlclose(library) == 0 && ok;
}

int main(int argc, char** argv) {
  long before = 0, grown;
  int i;
  for (i = 0; i < 200; ++i) {
    if (i == 50) before = resident_pages();
    if (argc < 2 || !once(argv[1])) return 1;
  }
  grown = (resident_pages() - before) * sysconf(_SC_PAGESIZE);
  printf("grown by %ld KiB\n", grown / 1024);
  return before > 0 && grown < 1 << 20 ? 0 : 1;
}
