// One kernel, several instruction sets, where RILLE_CLONES is not enough because the shape of the
// kernel (tile, vector length) differs between them. A job is a struct with an always-inline
// template <class Isa> void run() const; run_best(job) compiles it for each set and runs the widest
// one that this machine has. Everything that run calls must be always-inline too.
#pragma once

namespace rille::cpu {

struct Baseline {
  static constexpr int bytes = 16;  // of a vector register
#if defined(__aarch64__)
  static constexpr int registers = 32;
#else
  static constexpr int registers = 16;
#endif
};
struct Avx2 {
  static constexpr int bytes = 32, registers = 16;
};
struct Avx512 {
  static constexpr int bytes = 64, registers = 32;
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(RILLE_NO_CLONES)

enum class Isa { baseline, avx2, avx512 };
inline Isa best_isa() {
  static const Isa best = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      return Isa::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
    return Isa::baseline;
  }();
  return best;
}

/// Products of pairs of bf16, in the functions that run_avx512 compiles.
inline bool has_bf16_pairs() {
#if defined(__clang__)
  return false;  // it takes their instruction (cpu/cells.h) in functions for such processors only
#else
  static const bool has = best_isa() == Isa::avx512 && __builtin_cpu_supports("avx512bf16");
  return has;
#endif
}

/// For what is faster on Intel's processors and slower on others: each place says what was seen.
inline bool is_intel() {
  static const bool is = [] {
    __builtin_cpu_init();
    return __builtin_cpu_is("intel") != 0;
  }();
  return is;
}

template <class Job>
[[gnu::target("arch=x86-64-v4"), gnu::noinline]] void run_avx512(const Job& job) {
  job.template run<Avx512>();
}
template <class Job>
[[gnu::target("arch=x86-64-v3"), gnu::noinline]] void run_avx2(const Job& job) {
  job.template run<Avx2>();
}
template <class Job>
[[gnu::noinline]] void run_baseline(const Job& job) {
  job.template run<Baseline>();
}

template <class Job>
void run_best(const Job& job) {
  switch (best_isa()) {
    case Isa::avx512: return run_avx512(job);
    case Isa::avx2: return run_avx2(job);
    case Isa::baseline: return run_baseline(job);
  }
}

/// f(Isa()) with the chosen set, for sizes that depend on it; nothing is compiled for the set.
template <class F>
auto with_isa(F&& f) {
  switch (best_isa()) {
    case Isa::avx512: return f(Avx512());
    case Isa::avx2: return f(Avx2());
    default: return f(Baseline());
  }
}

#else

inline bool has_bf16_pairs() { return false; }
inline bool is_intel() { return false; }

template <class Job>
void run_avx512(const Job& job) {
  job.template run<Baseline>();
}
template <class Job>
void run_best(const Job& job) {
  job.template run<Baseline>();
}
template <class F>
auto with_isa(F&& f) {
  return f(Baseline());
}

#endif

}  // namespace rille::cpu
