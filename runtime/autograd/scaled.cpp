#include "autograd/scaled.h"

#include <utility>

namespace rille::autograd {
namespace {

constexpr char kScaled[] = "backward of a scaled loss";  // told by its address

std::optional<Site>& pass() {
  thread_local std::optional<Site> site;
  return site;
}

}  // namespace

void mark_pass_scaled(const Site& site) { pass() = site; }

ScaledPass::ScaledPass() : before_(std::exchange(pass(), std::nullopt)) {}
ScaledPass::~ScaledPass() { pass() = before_; }

std::optional<Site> scaled_at(const Tensor& gradient) {
  if (!gradient || !gradient.storage() || gradient.storage()->written_by != kScaled) return {};
  return gradient.storage()->written_at;
}

void mark_scaled(const Tensor& gradient, const std::optional<Site>& before) {
  const std::optional<Site>& site = pass() ? pass() : before;
  if (!site || !gradient.storage()) return;
  gradient.storage()->written_by = kScaled;
  gradient.storage()->written_at = *site;
}

void unmark_scaled(const Tensor& gradient) {
  if (scaled_at(gradient)) gradient.storage()->written_by = nullptr;
}

}  // namespace rille::autograd
