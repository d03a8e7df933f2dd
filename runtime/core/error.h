// Errors as data: what kind, a stable code, the op, what was wrong, facts and at most one hint.
// Everything that a user can get wrong ends here; the Lua door adds the script's line and names.
// Messages are formatted where they are thrown (core/fail.h), never in a header that ops include.
#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace rille {

enum class Kind : uint8_t {
  argument,
  shape,
  dtype,
  device,
  state,
  memory,
  data,
  distributed,
  interrupt,
  internal
};
std::string_view name(Kind k);

class Error : public std::exception {
 public:
  Error(Kind kind, std::string_view code, std::string text)
      : kind_(kind), code_(code), text_(std::move(text)) {}

  Kind kind() const { return kind_; }
  /// Stable name from the registry in docs/errors.md, such as "E_SHAPE".
  const std::string& code() const { return code_; }
  /// The op that the user called; empty when none did.
  const std::string& op() const { return op_; }
  /// What is wrong, without the op: "inner sizes differ: 784 and 256".
  const std::string& text() const { return text_; }
  const std::string& hint() const { return hint_; }
  /// Lines such as "saved by     mul   train.lua:40", shown under the message.
  const std::vector<std::string>& facts() const { return facts_; }
  /// Names of the arguments that the error is about; empty means all tensors.
  const std::vector<std::string>& about() const { return about_; }

  // Each comes twice: for `throw shape_error(...).hint(...)` and for an error that is at hand.
  Error& op(std::string_view name) & {
    op_ = name;
    return *this;
  }
  Error&& op(std::string_view name) && { return std::move(op(name)); }
  Error& hint(std::string text) & {
    hint_ = std::move(text);
    return *this;
  }
  Error&& hint(std::string text) && { return std::move(hint(std::move(text))); }
  Error& fact(std::string line) & {
    facts_.push_back(std::move(line));
    return *this;
  }
  Error&& fact(std::string line) && { return std::move(fact(std::move(line))); }
  /// Names of the arguments to show; an empty one shows none.
  template <class... Names>
  Error& of(Names&&... names) & {
    (about_.emplace_back(names), ...);
    return *this;
  }
  template <class... Names>
  Error&& of(Names&&... names) && {
    return std::move(of(names...));
  }

  /// "matmul: inner sizes differ: 784 and 256"
  const char* what() const noexcept override;

 private:
  Kind kind_;
  std::string code_, op_, text_, hint_;
  std::vector<std::string> facts_, about_;
  mutable std::string what_;
};

}  // namespace rille
