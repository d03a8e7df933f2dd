// How natives that are no ops meet Lua: a function gets a Call, asks it for arguments, gives it
// results. It runs between two phases in which Lua may raise, never during them, so it may throw
// and own what it likes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/budget.h"
#include "core/small_vector.h"
#include "interpreter/lua/interpreter.h"
#include "interpreter/lua/nested.h"
#include "interpreter/lua/value.h"

struct lua_State;
namespace rille {
struct OpInfo;
}

namespace rille::lua {

/// A Lua function (or another value) that C++ holds, also after the interpreter closed. Called on
/// the thread that is inside the interpreter, or while nobody is: E_BUSY or E_CLOSED else. An error
/// of the function comes out as the error it raised.
class Callback {
 public:
  Callback(Interpreter& in, int reference) : gate_(in.gate), reference_(reference) {}
  ~Callback();
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;
  std::vector<Value> operator()(std::vector<Value> arguments) const;
  int reference() const { return reference_; }
  void set_reference(int reference) { reference_ = reference; }
  Gate& gate() const { return *gate_; }
  bool belongs_to(const Interpreter& in) const { return gate_ == in.gate; }

 private:
  static constexpr int64_t kBytes = 256;  // with what holds it: a hook, an option, a scope
  std::shared_ptr<Gate> gate_;
  int reference_;
  const Charge charge_{kBytes};
};

/// A Lua error on its way through C++ frames: the raised value waits in the registry.
class LuaError : public std::exception {
 public:
  LuaError(CallbackRef value, std::string text)
      : value_(std::move(value)), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const CallbackRef& value() const { return value_; }

 private:
  CallbackRef value_;
  std::string text_;
};

/// A tensor in a field of one table of a list; `position` counts from 0.
struct TensorField {
  size_t position;
  std::string_view key;
  Tensor tensor;
};

/// One term of a plain index, as the script wrote it.
struct IndexTerm {
  enum class Kind : uint8_t { position, range, all } kind = Kind::all;
  int64_t first = 0, last = 0, step = 1;
};
using IndexTerms = SmallVector<IndexTerm, 4>;

class Call {
 public:
  Call(lua_State* L, Interpreter& in) : L_(L), in_(in) {}

  int count() const;
  bool has(int i) const;  // given and not nil
  bool is_table(int i) const;
  bool is_tensor(int i) const;
  bool is_closed(int i) const;  // a box that was freed or never filled
  bool is_string(int i) const;
  bool is_number(int i) const;
  bool is_function(int i) const;

  // Arguments by position from 1; `name` is for the error. All throw E_TYPE.
  Tensor tensor(int i, std::string_view name) const;
  std::vector<Tensor> tensors(int i, std::string_view name) const;  // a list
  double number(int i, std::string_view name) const;
  int64_t integer(int i, std::string_view name) const;
  bool boolean(int i, std::string_view name) const;
  std::string string(int i, std::string_view name) const;
  CallbackRef function(int i, std::string_view name) const;
  /// Where the interpreter's list has the tensor (lua/owned.h); kNone for what is none.
  uint32_t slot(int i) const;
  /// Tells coroutines apart; for comparing only.
  const void* thread() const { return L_; }
  /// An integer, or a list of integers and ranges (lua/read_index.h); false for anything else.
  bool plain_index(int i, IndexTerms& out) const;
  /// Everything at a position, tables copied (64 deep at most).
  Value value(int i) const;
  /// A nested list of numbers, or one of them (lua/nested.h).
  Numbers numbers(int i) const { return read_numbers(L_, in_, i); }
  template <class T>
  std::shared_ptr<T> object(int i, std::string_view name) const {
    auto o = std::dynamic_pointer_cast<T>(any_object(i));
    if (!o) wrong(i, name, T::kWhat);
    return o;
  }

  /// The entry of an options table as a Value; nil where absent. See also `only`.
  Value option(int i, std::string_view key) const;
  /// The same where it must be of one type: E_TYPE for another.
  std::optional<std::string> text_option(int i, std::string_view key) const;
  bool flag_option(int i, std::string_view key, bool otherwise = false) const;
  /// The options table at `i`, or nothing, into a struct whose fields `schema` describes; `into`
  /// holds the defaults. Refuses what the schema doesn't name.
  void options(int i, const OpInfo& schema, void* into) const;
  /// Refuses keys of the options table at `i` that are not among `keys`.
  void only(int i, std::initializer_list<std::string_view> keys) const;
  /// All tensors in named fields of a list of tables. Keys live as long as the argument.
  std::vector<TensorField> tensor_fields(int i, std::string_view name) const;

  void give(Value v) { in_.results.push_back(std::move(v)); }

  Interpreter& interpreter() const { return in_; }
  Context& context() const { return in_.context; }
  [[noreturn]] void wrong(int i, std::string_view name, std::string_view expected) const;
  Site where() const;

 private:
  struct Reading;
  ObjectRef any_object(int i) const;
  Value read(int i, int depth, Reading& reading) const;
  lua_State* L_;
  Interpreter& in_;
};

using Native = void (*)(Call&);
/// What t[i] is: the tensor at 1, the index at 2.
using GetIndex = Tensor (*)(Call&);

struct NativeEntry {
  std::string_view name;
  Native function;
};

/// Puts functions into the table on top of the stack.
void add_natives(lua_State* L, Interpreter& in, const NativeEntry* begin, const NativeEntry* end);
template <size_t N>
void add_natives(lua_State* L, Interpreter& in, const NativeEntry (&list)[N]) {
  add_natives(L, in, list, list + N);
}
/// `name` (static) is the op that errors name where the function names none.
void push_native(lua_State* L, Interpreter& in, Native f, const char* name = "");

/// Pushes a box that holds the object; may raise for want of memory.
void push_object(lua_State* L, Interpreter& in, const ObjectRef& o);
/// Pushes a value; may raise for want of memory.
void push_value(lua_State* L, Interpreter& in, const Value& v);

/// The end of a call: the collector's turn, then pushes what was given since `first`.
int push_results(lua_State* L, Interpreter& in, size_t first);

}  // namespace rille::lua
