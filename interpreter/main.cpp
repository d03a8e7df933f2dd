// The program `rille`: a thin shell around the library.
#include "interpreter/shell/shell.h"

int main(int argc, char** argv) { return rille::shell::run(argc, argv); }
