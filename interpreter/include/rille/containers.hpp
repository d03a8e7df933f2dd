// Modules that hold modules, or parameters, and leave it to their owner what to do with them. They
// are handles, as all modules are: a copy has the same members. Members of one type are written
// ModuleList<Block>; a list of several types holds them as Module, which can't be called.
//
//   nn::ModuleList<Block> blocks = register_module("blocks", nn::ModuleList<Block>{Block(),
//   Block()}); for (const Block& block : blocks) x = block(x);
#pragma once
#include <functional>

#include "rille/error.hpp"
#include "rille/module.hpp"

namespace rille::RILLE_V1 {
namespace detail {
[[noreturn]] inline void no_member(std::string_view kind, std::string_view which) {
  std::string text(kind);
  text.append(" has no member '").append(which).append("'");
  throw Error(ErrorKind::argument, "E_INDEX", text);
}
}  // namespace detail

namespace nn {

/// Members in order, named from 0.
template <class M = Module>
class ModuleList : public ModuleOf<ModuleList<M>> {
 public:
  ModuleList() : ModuleOf<ModuleList<M>>("ModuleList") {}
  explicit ModuleList(const std::vector<M>& members) : ModuleList() { extend(members); }
  ModuleList(std::initializer_list<M> members) : ModuleList() {
    for (const M& m : members) append(m);
  }
  /// `make(i)` for i from 0 to count - 1: members with parameters of their own, where copies of
  /// one handle would all be that one.
  template <class Make>
  requires std::is_invocable_r_v<M, Make&, size_t> ModuleList(size_t count, Make&& make)
      : ModuleList() {
    for (size_t i = 0; i < count; ++i) append(make(i));
  }

  void append(const M& member) {
    this->register_module(std::to_string(members_->size()), member);
    members_->push_back(member);
  }
  void extend(const std::vector<M>& members) {
    for (const M& m : members) append(m);
  }
  size_t size() const { return members_->size(); }
  /// Throws E_INDEX where there is none.
  const M& operator[](size_t i) const {
    if (i >= size()) detail::no_member("ModuleList", std::to_string(i));
    return (*members_)[i];
  }
  auto begin() const { return members_->cbegin(); }
  auto end() const { return members_->cend(); }

 private:
  std::shared_ptr<std::vector<M>> members_ = std::make_shared<std::vector<M>>();
};

/// Members by name, in the order in which they came.
template <class M = Module>
class ModuleDict : public ModuleOf<ModuleDict<M>> {
 public:
  using Entry = std::pair<std::string, M>;

  ModuleDict() : ModuleOf<ModuleDict<M>>("ModuleDict") {}
  ModuleDict(std::initializer_list<Entry> members) : ModuleDict() {
    for (const auto& [name, m] : members) insert(name, m);
  }

  /// Throws E_ARG where the name is taken.
  void insert(const std::string& name, const M& member) {
    this->register_module(name, member);
    members_->emplace_back(name, member);
  }
  size_t size() const { return members_->size(); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// Throws E_INDEX where there is none.
  const M& operator[](std::string_view name) const {
    const M* found = find(name);
    if (!found) detail::no_member("ModuleDict", name);
    return *found;
  }
  auto begin() const { return members_->cbegin(); }
  auto end() const { return members_->cend(); }

 private:
  const M* find(std::string_view name) const {
    for (const Entry& e : *members_)
      if (e.first == name) return &e.second;
    return nullptr;
  }
  std::shared_ptr<std::vector<Entry>> members_ = std::make_shared<std::vector<Entry>>();
};

/// Parameters in order, named from 0. Each tensor becomes a leaf that wants gradients.
class ParameterList : public ModuleOf<ParameterList> {
 public:
  ParameterList() : ModuleOf("ParameterList") {}
  explicit ParameterList(const std::vector<Tensor>& tensors) : ParameterList() {
    for (const Tensor& t : tensors) append(t);
  }
  ParameterList(std::initializer_list<Tensor> tensors)
      : ParameterList(std::vector<Tensor>(tensors)) {}

  void append(const Tensor& t) {
    members_->push_back(register_parameter(std::to_string(members_->size()), t));
  }
  size_t size() const { return members_->size(); }
  /// Throws E_INDEX where there is none.
  const Tensor& operator[](size_t i) const {
    if (i >= size()) detail::no_member("ParameterList", std::to_string(i));
    return (*members_)[i];
  }
  auto begin() const { return members_->cbegin(); }
  auto end() const { return members_->cend(); }

 private:
  std::shared_ptr<std::vector<Tensor>> members_ = std::make_shared<std::vector<Tensor>>();
};

}  // namespace nn
}  // namespace rille::RILLE_V1
