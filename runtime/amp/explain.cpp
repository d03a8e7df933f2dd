#include "amp/explain.h"

#include "core/fail.h"

namespace rille::amp {
namespace {

void add_dtype(std::string& to, const Tensor& t) {
  if (!to.empty()) to += ' ';
  to += t.is_number() ? "number" : name(t.dtype());
}

std::string what_was_cast(const AutocastChoice& c) {
  if (c.policy == Autocast::f32_out && c.casts == 0) return "the result in f32";
  if (c.casts == 0) return fmt::format("all {} already", name(*c.dtype));
  return fmt::format("{} argument{} cast to {}", c.casts, c.casts == 1 ? "" : "s", name(*c.dtype));
}

std::string why_text(const AutocastChoice& c) {
  using Why = AutocastChoice::Why;
  switch (c.why) {
    case Why::off: return "off for this device";
    case Why::in_place: return "in place: as they come";
    case Why::dtype: return fmt::format("{}: the call names a dtype", name(c.policy));
    case Why::none: return fmt::format("{}: nothing to cast", name(c.policy));
    case Why::own:
    case Why::list:
    case Why::script: break;
  }
  std::string text(name(c.policy));
  if (c.why == Why::list) text += " (torch-cpu)";
  if (c.why == Why::script) text += " (by rule)";
  return text + ": " + (c.dtype ? what_was_cast(c) : "as they come");
}

}  // namespace

void Explanation::saw(const OpInfo& op, const AutocastChoice& choice, const void* args,
                      const Results& out) {
  ExplainedCall call;
  each_tensor(op, args, [&](size_t, const Tensor& t) { add_dtype(call.arguments, t); });
  if (call.arguments.empty()) return;  // it makes tensors, of which nothing was decided here
  call.op = choice.why == AutocastChoice::Why::in_place ? op.in_place_name : std::string(op.name);
  call.site = Context::current().site();
  for (const Tensor& t : out) add_dtype(call.result, t);
  call.policy = name(choice.policy);
  call.why = why_text(choice);
  calls_.push_back(std::move(call));
}

}  // namespace rille::amp
