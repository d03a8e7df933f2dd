// Policies of checkpoint blocks as the Lua half holds them: what native.selection gives.
#pragma once
#include "autograd/block.h"
#include "interpreter/bind/bind.h"

namespace rille::bind {

class SelectionPolicy : public lua::Object {
 public:
  static constexpr std::string_view kWhat = "a policy of checkpoint blocks";
  std::string_view type() const override { return "rille.native.Selection"; }
  /// For one block.
  virtual autograd::Policy make() = 0;
  /// The latest block that it was for.
  void belongs_to(const autograd::Block& block) { figures_ = block.figures(); }
  const std::shared_ptr<autograd::BlockFigures>& figures() const { return figures_; }

 private:
  std::shared_ptr<autograd::BlockFigures> figures_;
};

/// The options `policy` and `spill` of native.block_begin, or null.
std::shared_ptr<SelectionPolicy> policy_option(Call& c, int i);
std::shared_ptr<SpillFile> spill_option(Call& c, int i);

}  // namespace rille::bind
