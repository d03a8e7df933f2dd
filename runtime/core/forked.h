// A child of fork() has the memory of its parent and none of its threads: where the parent's pool
// had been used, it computes on one thread.
#pragma once

namespace rille {

/// Whether this process is the child of one whose pool had threads.
bool pool_is_lost() noexcept;

/// Asked before the pool is used, which is what children are told of. False where it is lost.
bool pool_may_run() noexcept;

}  // namespace rille
