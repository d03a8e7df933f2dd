// The thread sanitizer keeps a stack of its own, which longjmp has to cut. It sees longjmp, and not
// the checked one that Debian's Lua is compiled with: each error would leave its frames there, and
// a stack of thousands is copied at every allocation.
#if defined(__SANITIZE_THREAD__)
#undef _FORTIFY_SOURCE  // which would make this call itself
#include <csetjmp>

extern "C" [[noreturn]] void __longjmp_chk(std::jmp_buf where, int value) {
  std::longjmp(where, value);
}
#endif
