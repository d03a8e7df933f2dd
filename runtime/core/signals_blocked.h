// A thread inherits the mask of the one that makes it. Signals belong to the threads of whoever
// runs the script or the program, never to a worker of ours.
#pragma once
#include <csignal>

namespace rille {

/// No signal reaches the calling thread, nor the threads that it starts meanwhile, for a C++ scope.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace rille
