#include "interpreter/api/hosted.h"

#include "core/fail.h"
#include "core/threads.h"
#include "interpreter/bind/bind.h"
#include "interpreter/lua/host_function.h"
#include "interpreter/lua/open.h"

namespace rille::v1::detail {
namespace {

void bind_hosted(lua::Interpreter& in) {
  bind::bind_all(in);
  lua::define_host_functions(in);
}

void refuse_negative(double value, const char* name) {
  if (!(value >= 0))
    throw arg_error("option '{}' must be 0 or more, got {:g}", name, value).op("Interpreter");
}

lua::Policy policy_of(const InterpreterOptions& o) {
  refuse_negative(static_cast<double>(o.memory_limit), "memory_limit");
  refuse_negative(static_cast<double>(o.lua_memory_limit), "lua_memory_limit");
  refuse_negative(static_cast<double>(o.tensor_memory_limit), "tensor_memory_limit");
  refuse_negative(static_cast<double>(o.instruction_limit), "instruction_limit");
  refuse_negative(o.time_limit, "time_limit");
  refuse_negative(o.threads, "threads");
  lua::Policy p;
  p.sandbox = o.sandbox != Sandbox::none;
  p.interruptible = o.interruptible;
  p.memory_limit = o.memory_limit;
  p.lua_memory_limit = o.lua_memory_limit;
  p.tensor_memory_limit = o.tensor_memory_limit;
  p.instruction_limit = o.instruction_limit;
  p.time_limit = o.time_limit;
  for (const Device d : o.devices) p.devices.push_back(api::device_of(d));
  return p;
}

}  // namespace

Hosted::Hosted(InterpreterOptions options) : threads(options.threads) {
  in.policy = policy_of(options);
  in.hosted = true;
  in.context.generator = {options.seed, 0};
  if (options.on_print) in.out = print.emplace(std::move(options.on_print)).file();
  if (options.on_log) in.log = log.emplace(std::move(options.on_log)).file();
  lua::open_state(in, bind_hosted);
  in.gate->leave();
}

// Nobody is inside: who is holds this. Unless it did not open whole: then this thread is.
Hosted::Opened::~Opened() {
  if (!in.L) return;
  if (!in.gate->inside()) in.gate->enter();
  lua::close_state(in);
}

}  // namespace rille::v1::detail

namespace rille::api {

Entry::Entry(std::shared_ptr<Hosted> hosted) : hosted_(std::move(hosted)) {
  if (!hosted_) throw Error(Kind::state, "E_CLOSED", "the interpreter is closed");
  for (const auto* stream : {&hosted_->print, &hosted_->log})
    if (*stream && hosted_->in.gate->inside() && (*stream)->busy())
      throw Error(Kind::state, "E_BUSY", "what takes the output can't come back into the script");
  hosted_->in.gate->enter();
  if (hosted_->in.gate->depth() > 1) return;
  host_threads_ = threads();
  if (hosted_->threads > 0) set_threads(hosted_->threads);
  own_threads_ = threads();
}

Entry::~Entry() {
  lua::Gate& gate = *hosted_->in.gate;
  if (gate.depth() == 1) {
    if (threads() != own_threads_) hosted_->threads = threads();  // the script has set it
    if (threads() != host_threads_) set_threads(host_threads_);
    for (const auto* stream : {&hosted_->print, &hosted_->log})
      if (*stream) (*stream)->flush();
  }
  gate.leave();
}

}  // namespace rille::api
