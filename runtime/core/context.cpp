#include "core/context.h"

namespace rille {

constinit thread_local Context* Context::current_ = nullptr;

Context& Context::fallback() {
  thread_local Context plain;
  return plain;
}

}  // namespace rille
