#include "autograd/world.h"

#include <algorithm>
#include <utility>

#include "autograd/node.h"

namespace rille::autograd {

World::World(const Context& c)
    : flags_(c.flags),
      default_dtype_(c.default_dtype),
      default_device_(c.default_device),
      checked_casts_(c.checked_casts),
      generator_(c.generator) {}

void World::before_draw(const std::shared_ptr<void>& owner, Generator& generator) {
  const bool known = std::any_of(drawn_.begin(), drawn_.end(),
                                 [&](const Drawn& d) { return d.generator == &generator; });
  if (!known) drawn_.push_back({owner, &generator, generator});
}

InWorld::InWorld(const World& world, std::vector<std::shared_ptr<SavedHook>> hooks, bool generators)
    : context_(Context::current()),
      outside_(context_),
      hooks_(std::exchange(context_.saved_hooks, std::move(hooks))),
      generators_(generators) {
  if (generators_) {
    for (const World::Drawn& d : world.drawn_) outside_.before_draw(d.owner, *d.generator);
    for (const World::Drawn& d : world.drawn_) *d.generator = d.before;
    context_.generator = world.generator_;
  }
  // Listeners are told of a second run as of a first; its own mode says whether there are any.
  context_.flags = (world.flags_ & ~uint32_t{kListeners}) | (context_.flags & kListeners);
  context_.flags = context_.saved_hooks.empty() ? context_.flags & ~uint32_t{kSavedHooks}
                                                : context_.flags | kSavedHooks;
  context_.default_dtype = world.default_dtype_;
  context_.default_device = world.default_device_;
  context_.checked_casts = world.checked_casts_;
}

InWorld::~InWorld() {
  const bool left_autocast = (context_.flags & kAutocast) && !(outside_.flags_ & kAutocast);
  context_.saved_hooks = std::move(hooks_);
  context_.flags = outside_.flags_;
  context_.default_dtype = outside_.default_dtype_;
  context_.default_device = outside_.default_device_;
  context_.checked_casts = outside_.checked_casts_;
  if (generators_) {
    for (const World::Drawn& d : outside_.drawn_) *d.generator = d.before;
    context_.generator = outside_.generator_;
  }
  if (left_autocast) engine_ops().forget_casts();
}

void InWorld::before_draw(const std::shared_ptr<void>& owner, Generator& generator) {
  if (generators_) outside_.before_draw(owner, generator);
}

}  // namespace rille::autograd
