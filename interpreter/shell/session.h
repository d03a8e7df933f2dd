// An interpreter for as long as a command needs one, and what signals do to it meanwhile.
#pragma once
#include <csignal>

#include "interpreter/bind/bind.h"
#include "interpreter/lua/interpreter.h"
#include "interpreter/lua/interrupt.h"

namespace rille::shell {

/// Opened with what `bind` defines; closed on every way out.
class Session {
 public:
  explicit Session(const lua::Policy& policy = {},
                   void (*bind)(lua::Interpreter&) = bind::bind_all);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  lua::Interpreter& interpreter() { return in_; }

 private:
  // A member of its own, so that the state is closed where the constructor throws, too.
  struct Opened {
    lua::Interpreter in;
    ~Opened();
  };
  Opened opened_;
  lua::Interpreter& in_ = opened_.in;
};

/// For as long as it lives, SIGINT and SIGTERM stop the script of `in` with an error; a second one
/// does what signals do. Where `in` is interactive, SIGINT does so only within a second of another.
class Interruptible {
 public:
  explicit Interruptible(lua::Interpreter& in);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  lua::StoppableOps ops_;
  struct sigaction interrupt_ {
  }, terminate_{};  // what was done before
};

}  // namespace rille::shell
