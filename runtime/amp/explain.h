// What autocast made of each call, for people: amp.autocast.explain prints it.
#pragma once
#include <string>
#include <vector>

#include "ops/autocast.h"

namespace rille::amp {

struct ExplainedCall {
  std::string op;         // "linear", "add_"
  Site site;              // the script's line
  std::string arguments;  // dtypes as they came: "f32 f32 f32"
  std::string result;     // of the results: "bf16"
  std::string policy;     // "lower"
  std::string why;        // "lower: 3 arguments cast to bf16"
};

/// Keeps a line of every call that takes tensors, on this thread in a scope, while it lives.
class Explanation final : public AutocastWatcher {
 public:
  Explanation() : before_(watch_autocast(this)) {}
  ~Explanation() override { watch_autocast(before_); }
  Explanation(const Explanation&) = delete;
  Explanation& operator=(const Explanation&) = delete;
  void saw(const OpInfo& op, const AutocastChoice& choice, const void* args,
           const Results& out) override;
  const std::vector<ExplainedCall>& calls() const { return calls_; }

 private:
  AutocastWatcher* before_;
  std::vector<ExplainedCall> calls_;
};

}  // namespace rille::amp
