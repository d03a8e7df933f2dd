// What a block depends on besides its arguments and memory: modes, defaults, random numbers. A
// second run of the block happens in the world of the first.
#pragma once
#include <memory>
#include <vector>

#include "core/context.h"

namespace rille::autograd {

class World {
 public:
  /// As the context has it now.
  explicit World(const Context& c);
  /// A generator of the script's is about to be drawn from; its state counts the first time.
  void before_draw(const std::shared_ptr<void>& owner, Generator& generator);

 private:
  friend class InWorld;
  struct Drawn {
    std::shared_ptr<void> owner;  // keeps the generator alive
    Generator* generator;
    Generator before;
  };
  uint32_t flags_;
  DType default_dtype_;
  Device default_device_;
  bool checked_casts_;
  Generator generator_;
  std::vector<Drawn> drawn_;
};

/// Enters a world, with `hooks` as the only saved-tensor hooks; its end brings back the context as
/// it was. Without `generators` the random numbers go on from where they are.
class InWorld {
 public:
  InWorld(const World& world, std::vector<std::shared_ptr<SavedHook>> hooks, bool generators);
  ~InWorld();
  InWorld(const InWorld&) = delete;
  InWorld& operator=(const InWorld&) = delete;
  /// A generator that may be new to this world: it is brought back, too.
  void before_draw(const std::shared_ptr<void>& owner, Generator& generator);

 private:
  Context& context_;
  World outside_;
  std::vector<std::shared_ptr<SavedHook>> hooks_;
  const bool generators_;
};

}  // namespace rille::autograd
