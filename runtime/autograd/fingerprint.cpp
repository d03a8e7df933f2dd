#include "autograd/fingerprint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "autograd/node.h"
#include "core/context.h"
#include "core/fail.h"

namespace rille::autograd {
namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// 2014): every bit of the word reaches every bit of the result.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t hash_of(const char* bytes, int64_t n) {
  uint64_t h = static_cast<uint64_t>(n);
  for (; n >= 8; bytes += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    h = mixed(h ^ word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes, static_cast<size_t>(n));
  return mixed(h ^ rest);
}

uint64_t hash_of(const Tensor& t) {
  if (t.is_meta() || t.numel() == 0) return 0;
  const FlagScope unseen(kGrad | kSavedHooks | kListeners, false);
  const Tensor dense = t.is_contiguous() ? t : engine_ops().clone(t);
  return hash_of(static_cast<const char*>(dense.data()), dense.nbytes());
}

}  // namespace

std::string text_of(const Site& site) {
  return site.source ? fmt::format("{}:{}", site.source, site.line) : "?";
}

Fingerprint::Fingerprint(const Tensor& t, const char* by, bool values)
    : shape_(t.shape()),
      dtype_(t.dtype()),
      device_(t.device()),
      by_(by),
      site_(Context::current().site()) {
  if (!values || t.is_meta()) return;
  hash_ = hash_of(t);
  for (int64_t i = 0; i < std::min(kKept, t.numel()); ++i)
    some_.push_back(t.at(place(i, t.numel())));
}

// Spread evenly over the elements.
int64_t Fingerprint::place(int64_t i, int64_t numel) {
  return numel <= kKept ? i : i * ((numel - 1) / (kKept - 1));
}

bool Fingerprint::same_kind(const Tensor& t, const char* by) const {
  return t.shape() == shape_ && t.dtype() == dtype_ && t.device() == device_ &&
         std::string_view(by) == by_;
}

bool Fingerprint::same_values(const Tensor& t) const { return hash_of(t) == hash_; }

double Fingerprint::largest_difference(const Tensor& t) const {
  double most = 0;
  for (size_t i = 0; i < some_.size(); ++i)
    most = std::max(most, std::fabs(t.at(place(static_cast<int64_t>(i), t.numel())) - some_[i]));
  return most;
}

std::string Fingerprint::text() const {
  return fmt::format("{:<8} {}   {}{}  {}", by_, text_of(site_), name(dtype_), to_string(shape_),
                     to_string(device_));
}

}  // namespace rille::autograd
