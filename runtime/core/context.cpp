#include "core/context.h"

namespace rille {

thread_local Context* Context::current_ = nullptr;

Context& Context::fallback() {
  thread_local Context plain;
  return plain;
}

}  // namespace rille
