// The program `rille`: a thin shell around the library.
#include "core/references.h"
#include "interpreter/shell/shell.h"

int main(int argc, char** argv) {
  rille::begin_with_one_thread();
  return rille::shell::run(argc, argv);
}
