// What stands behind a v1::Interpreter. Who is inside holds it, so that a host that lets go of an
// interpreter in the middle of a run frees it when that run has left.
#pragma once
#include <memory>
#include <optional>

#include "interpreter/api/inside.h"
#include "interpreter/lua/interpreter.h"
#include "interpreter/lua/output.h"
#include "rille/interpreter.hpp"

namespace rille::v1::detail {

struct Hosted {
  explicit Hosted(InterpreterOptions options);
  Hosted(const Hosted&) = delete;
  Hosted& operator=(const Hosted&) = delete;

  // Before the state: it may write until it is closed.
  std::optional<lua::OutputStream> print, log;

  // A member of its own, so that the state is closed where the constructor throws, too.
  struct Opened {
    lua::Interpreter in;
    ~Opened();
  } opened;
  lua::Interpreter& in = opened.in;
  int threads = 0;  // that its ops may use; 0: as many as those of the thread that enters
};

/// The function behind a v1::Function: one of these two.
struct FunctionHome {
  // A script's.
  std::weak_ptr<Hosted> owner;
  lua::CallbackRef script;
  // The host's.
  HostFunction host;
  std::string name;
};

struct FunctionAccess {
  static Function make(FunctionHome home) {
    Function f;
    f.home_ = std::make_shared<const FunctionHome>(std::move(home));
    return f;
  }
  static const FunctionHome* home(const Function& f) { return f.home_.get(); }
};

}  // namespace rille::v1::detail

namespace rille::api {

using v1::detail::Hosted;

/// Inside an interpreter for a C++ scope: the one thread that may touch it, with the number of
/// threads that its ops may use. Throws E_BUSY, E_CLOSED.
class Entry {
 public:
  explicit Entry(std::shared_ptr<Hosted> hosted);
  ~Entry();
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  lua::Interpreter& in() const { return hosted_->in; }
  const std::shared_ptr<Hosted>& hosted() const { return hosted_; }

 private:
  std::shared_ptr<Hosted> hosted_;
  int host_threads_ = 0, own_threads_ = 0;
};

/// A value of a script's for the host. Throws E_TYPE for what C++ has no form of.
v1::Value host_value(const lua::Value& v, const std::shared_ptr<Hosted>& home);
std::vector<v1::Value> host_values(const std::vector<lua::Value>& list,
                                   const std::shared_ptr<Hosted>& home);
/// A value of the host's for a script of `home`. Throws E_ARG for a function of another
/// interpreter, and for tables nested too deep.
lua::Value script_value(const v1::Value& v, const std::shared_ptr<Hosted>& home);
std::vector<lua::Value> script_values(std::span<const v1::Value> list,
                                      const std::shared_ptr<Hosted>& home);

}  // namespace rille::api
