// Recipes inside of a C++ program: an interpreter with its own globals, random numbers, limits and
// output. A process may hold many. One thread at a time may be inside of one: a second that comes
// gets E_BUSY, while the same thread may come back from a function that the script called. Nothing
// here ends the process, installs a signal handler or writes to the process's streams, but scripts
// that print do, where no `on_print` is given.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rille/convert.hpp"
#include "rille/error.hpp"

namespace rille::RILLE_V1 {

/// What scripts may reach. `recipe`: no files but through the engine's own functions that were
/// granted, no processes, environment, bytecode or debug library.
enum class Sandbox : uint8_t { none, recipe };

/// Limits are per run or call from the host, 0 is none; passing one is an E_BUDGET error in the
/// script, E_OOM_BUDGET where it was a tensor that did not fit. Counting instructions and time
/// costs some percents of Lua's speed.
struct InterpreterOptions {
  Sandbox sandbox = Sandbox::none;
  int64_t memory_limit = 0;         // bytes of Lua's heap and of tensors together
  int64_t lua_memory_limit = 0;     // bytes of Lua's heap
  int64_t tensor_memory_limit = 0;  // bytes of tensors that it made
  int64_t instruction_limit = 0;    // Lua instructions
  double time_limit = 0;            // seconds
  uint64_t seed = 0;                // of its random numbers
  int threads = 0;                  // that ops may use; 0: as many as the calling thread's ops
  /// Where scripts may put tensors: the first is where they go unless a script says otherwise, one
  /// that is not listed is an E_SANDBOX error (shapes alone, "meta", are always allowed). Empty:
  /// any device. Tensors that the host passes in may be anywhere.
  std::vector<Device> devices = {};
  bool interruptible = true;  // whether interrupt() works
  /// Take what print and io.stdout, and what io.stderr and warnings write: whole lines, and what is
  /// left at the end of a run. Without them it goes where the process's does. They run in the
  /// middle of the script and must not come back into the interpreter (E_BUSY).
  std::function<void(std::string_view)> on_print = {};
  std::function<void(std::string_view)> on_log = {};
};

namespace detail {
struct Hosted;
}

class RILLE_API Interpreter {
 public:
  using Options = InterpreterOptions;

  /// Opens one. Throws E_ARG for a negative limit, E_OOM.
  explicit Interpreter(Options options = {});
  Interpreter(Interpreter&&) noexcept = default;
  Interpreter& operator=(Interpreter&&) noexcept;
  /// Closes it: functions end first, then saves in the background are waited for, workers of data
  /// loaders, tensors of the script's go last. Tensors and functions that the host holds outlive
  /// it. One that is running is stopped, and closes when its run has left, on that thread.
  ~Interpreter();
  /// The same now. Throws E_BUSY while a run is under way, from inside as well.
  void close();

  // ---- running ----------------------------------------------------------------------------------

  /// Runs a file, whose `arg` and `...` are `args`. If it returns a recipe, that is carried out.
  /// os.exit() ends the script only; a status other than 0 is an E_EXIT error.
  Result<void> run_file(const std::string& path, const std::vector<std::string>& args = {});
  /// Runs text; `chunk` is what errors call it. Those that scripts print show the line,
  /// where the text is among the latest (a MiB of them is kept).
  Result<void> run_string(std::string_view code, std::string_view chunk = "script",
                          const std::vector<std::string>& args = {});
  /// Calls a global function ("game.score" finds it in a table); gives its first result.
  template <class... A>
  Result<Value> call(std::string_view name, A&&... arguments) {
    return call_values(name, {Convert<std::decay_t<A>>::to(std::forward<A>(arguments))...});
  }
  Result<Value> call_values(std::string_view name, const std::vector<Value>& arguments);
  /// From any thread or signal handler, of an interpreter that is there: what runs stops with
  /// E_INTERRUPTED at the script's next instruction, after the op it is in; where nothing runs, the
  /// next run does.
  void interrupt() noexcept;

  // ---- globals ----------------------------------------------------------------------------------

  /// A global of the scripts, of any type that Convert knows, functions among them. A dotted name
  /// makes tables on the way. Throws E_TYPE where it would pass through what is no table, and what
  /// a read-only table throws.
  template <class T>
  void set(std::string_view name, T&& value) {
    set_value(name, to_value(name, std::forward<T>(value)));
  }
  void set_value(std::string_view name, const Value& value);
  /// Throws E_TYPE where it is of another type; what isn't there is nil.
  template <class T = Value>
  T get(std::string_view name) {
    static_assert(!std::is_same_v<T, std::string_view>, "the text may go before the view");
    return Convert<T>::from(get_value(name), {name});
  }
  Value get_value(std::string_view name);
  /// A function of the script's as a C++ one: lua.function<Tensor(Tensor)>("predict"). It throws
  /// the script's errors, and E_CLOSED once the interpreter is closed. R may be a std::tuple.
  template <class Signature>
  std::function<Signature> function(std::string_view name) {
    return Convert<std::function<Signature>>::from(get_value(name), {name});
  }
  /// A C++ function for scripts: a lambda, a function, a std::function, or a member of an object
  /// that outlives the interpreter. The same as set, but that errors know its name.
  template <class F>
  requires detail::Callable<std::decay_t<F>>
  void bind(std::string_view name, F&& f) {
    set_value(name, make_function(std::forward<F>(f), std::string(name)));
  }
  template <class M, class C>
  requires std::is_member_function_pointer_v<M>
  void bind(std::string_view name, M member, C* object) {
    auto f = [member, object](auto&&... a) -> decltype(auto) {
      return (object->*member)(std::forward<decltype(a)>(a)...);
    };
    set_value(name, Function(detail::host_function(f, typename detail::SignatureOf<M>::type()),
                             std::string(name)));
  }

 private:
  template <class T>
  static Value to_value(std::string_view name, T&& value) {
    if constexpr (detail::Callable<std::decay_t<T>>)
      return make_function(std::forward<T>(value), std::string(name));
    else
      return Convert<std::decay_t<T>>::to(std::forward<T>(value));
  }
  void let_go() noexcept;
  std::shared_ptr<detail::Hosted> state_;
};

}  // namespace rille::RILLE_V1
