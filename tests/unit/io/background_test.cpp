#include "io/background.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <stdexcept>

using rille::io::Background;

TEST_CASE("background: work is waited for, one after another", "[io]") {
  std::atomic<int> done{0};
  {
    Background b;
    CHECK_FALSE(b.busy());
    CHECK_FALSE(b.done());
    for (int i = 1; i <= 20; ++i) b.start([&, i] { done += done == i - 1; });
    CHECK(b.busy());
    b.wait();
    CHECK(done == 20);
    CHECK_FALSE(b.busy());
    b.start([&] { ++done; });
  }
  CHECK(done == 21);
}

TEST_CASE("background: an error comes out once, where the caller next asks", "[io]") {
  Background b;
  const auto fails = [] { throw std::runtime_error("no room"); };
  b.start(fails);
  CHECK_THROWS_WITH(b.wait(), "no room");
  b.wait();
  b.start(fails);
  bool started = false;
  CHECK_THROWS_WITH(b.start([&] { started = true; }), "no room");
  CHECK_FALSE(b.busy());
  CHECK_FALSE(started);
  b.start(fails);
  const auto poll = [&] {
    while (!b.done()) {
    }
  };
  CHECK_THROWS_WITH(poll(), "no room");
  b.start(fails);
  CHECK(b.error_at_end());
  CHECK_FALSE(b.error_at_end());
  b.start(fails);  // dropped by the end of b
}

TEST_CASE("background: signals go to the thread that runs the script", "[io]") {
  Background b;
  sigset_t mask;
  b.start([&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  b.wait();
  CHECK(sigismember(&mask, SIGINT) == 1);
  CHECK(sigismember(&mask, SIGTERM) == 1);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  CHECK(sigismember(&mask, SIGINT) == 0);
}
