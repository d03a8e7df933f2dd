// Catch2's main, compiled once: it is by far the slowest file of the test suite.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
