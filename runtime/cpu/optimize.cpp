#include "cpu/optimize.h"

#include <algorithm>
#include <cmath>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/row_access.h"

namespace rille::cpu {
namespace {

constexpr int64_t kPiece = 2048;         // elements that pass through the first-level cache at once
constexpr int64_t kChunk = 16 * kPiece;  // what a thread takes

// Calls f(index of the tensor, chunk of the list, begin, end) for every chunk of every tensor.
template <class T, class F>
void each_chunk(std::span<const T> tensors, F f) {
  std::vector<int64_t> first(tensors.size() + 1, 0);
  for (size_t i = 0; i < tensors.size(); ++i)
    first[i + 1] = first[i] + (tensors[i].n + kChunk - 1) / kChunk;
  parallel_for(first.back(), 1, [&](int64_t from, int64_t to) {
    size_t i =
        static_cast<size_t>(std::upper_bound(first.begin(), first.end(), from) - first.begin() - 1);
    for (int64_t c = from; c < to; ++c) {
      while (c >= first[i + 1]) ++i;
      const int64_t begin = (c - first[i]) * kChunk;
      f(i, c, begin, std::min(tensors[i].n, begin + kChunk));
    }
  });
}

template <class T>
int64_t chunks_of(std::span<const T> tensors) {
  int64_t sum = 0;
  for (const T& t : tensors) sum += (t.n + kChunk - 1) / kChunk;
  return sum;
}

template <class A>
const A* load(DType d, const void* base, int64_t at, int64_t n, A* room) {
  const char* from = element(base, d, at);
  if (d == kDType<A>) return reinterpret_cast<const A*>(from);
  convert(d, from, kDType<A>, room, n);
  return room;
}

// The weights of a piece, where they are, or, if they are 16 bits wide, a copy to put back.
template <class A>
class Weights {
 public:
  Weights(const StepTensor& t, int64_t at, int64_t n) : t_(t), at_(at), n_(n) {
    if (t.master) {
      w_ = reinterpret_cast<A*>(element(t.master, kDType<A>, at));
    } else if (t.dtype == kDType<A>) {
      w_ = reinterpret_cast<A*>(element(t.param, t.dtype, at));
    } else {
      convert(t.dtype, element(t.param, t.dtype, at), kDType<A>, room_, n);
      w_ = room_;
    }
  }
  A* get() { return w_; }
  void done() const {
    if (t_.master || w_ == room_)
      convert(kDType<A>, w_, t_.dtype, element(t_.param, t_.dtype, at_), n_);
  }

 private:
  const StepTensor& t_;
  int64_t at_, n_;
  A* w_;
  A room_[kPiece];
};

template <class A>
A* state_at(const StepTensor& t, int i, int64_t at) {
  return t.state[i] ? static_cast<A*>(t.state[i]) + at : nullptr;
}

// In the loops below all loads come before the first store: the buffers of a step often lie at the
// same place of a page, and a load then waits for a store that it only seems to depend on.
template <class A>
struct SgdNumbers {
  A lr, momentum, gain, decay, scale;
  bool nesterov;
};

template <class A>
RILLE_CLONES void sgd_plain(const SgdNumbers<A> o, const A* grad, A* w, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) w[i] -= o.lr * (o.scale * grad[i] + o.decay * w[i]);
}

template <class A>
RILLE_CLONES void sgd_first(const SgdNumbers<A> o, const A* grad, A* w, A* b, int64_t n) {
  const A g_part = o.nesterov ? A(1) + o.momentum : A(1);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const A before = w[i], g = o.scale * grad[i] + o.decay * before;
    b[i] = g;
    w[i] = before - o.lr * (g_part * g);
  }
}

template <class A, bool kNesterov>
RILLE_CLONES void sgd_momentum(const SgdNumbers<A> o, const A* grad, A* w, A* b, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const A before = w[i], g = o.scale * grad[i] + o.decay * before;
    const A now = o.momentum * b[i] + o.gain * g;
    b[i] = now;
    w[i] = before - o.lr * (kNesterov ? g + o.momentum * now : now);
  }
}

template <class A>
void sgd_piece(const SgdNumbers<A> o, bool first, const A* grad, A* w, A* b, int64_t n) {
  if (!b || o.momentum == A(0))
    sgd_plain(o, grad, w, n);
  else if (first)
    sgd_first(o, grad, w, b, n);
  else if (o.nesterov)
    sgd_momentum<A, true>(o, grad, w, b, n);
  else
    sgd_momentum<A, false>(o, grad, w, b, n);
}

template <class A>
struct AdamNumbers {
  A beta1, rest1, beta2, rest2, eps, shrink, decay, scale, rate, root;
};

template <class A, bool kAmsgrad>
RILLE_CLONES void adam_piece(const AdamNumbers<A> o, const A* grad, A* w, A* m, A* v, A* most,
                             int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const A before = w[i], g = o.scale * grad[i] + o.decay * before;
    const A mean = o.beta1 * m[i] + o.rest1 * g, square = o.beta2 * v[i] + o.rest2 * (g * g);
    A u = square;
    if (kAmsgrad) most[i] = u = most[i] >= u ? most[i] : u;
    m[i] = mean;
    v[i] = square;
    w[i] = o.shrink * before - o.rate * mean / (std::sqrt(u) * o.root + o.eps);
  }
}

template <class A>
AdamNumbers<A> numbers(const Adam& o, int64_t step) {
  const double t = static_cast<double>(step);
  const double bias1 = 1 - std::pow(o.beta1, t), bias2 = 1 - std::pow(o.beta2, t);
  return {static_cast<A>(o.beta1),
          static_cast<A>(1 - o.beta1),
          static_cast<A>(o.beta2),
          static_cast<A>(1 - o.beta2),
          static_cast<A>(o.eps),
          static_cast<A>(o.decoupled ? 1 - o.lr * o.weight_decay : 1),
          static_cast<A>(o.decoupled ? 0 : o.weight_decay),
          static_cast<A>(o.maximize ? -o.scale : o.scale),
          static_cast<A>(o.lr / bias1),
          static_cast<A>(1 / std::sqrt(bias2))};
}

// Runs piece(grad, weights, at, n) over [begin, end) of one tensor.
template <class A, class Piece>
void each_piece(const StepTensor& t, int64_t begin, int64_t end, Piece piece) {
  A room[kPiece];
  for (int64_t at = begin; at < end; at += kPiece) {
    const int64_t n = std::min(kPiece, end - at);
    Weights<A> w(t, at, n);
    piece(load(t.grad_dtype, t.grad, at, n, room), w.get(), at, n);
    w.done();
  }
}

// In double: the square of a float need not be one.
template <class A>
RILLE_CLONES double square_sum(const A* x, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

// x - x is 0 for finite x alone.
template <class A>
RILLE_CLONES bool scale_piece(const A* x, A factor, A* y, int64_t n) {
  int bad = 0;
#pragma omp simd reduction(| : bad)
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[i] * factor;
    bad |= y[i] - y[i] == A(0) ? 0 : 1;
  }
  return bad == 0;
}

template <class A>
RILLE_CLONES bool unscale_piece(const A* x, A factor, A* y, int64_t n) {
  int bad = 0;
#pragma omp simd reduction(| : bad)
  for (int64_t i = 0; i < n; ++i) {
    const A before = x[i];
    y[i] = before * factor;
    bad |= before - before == A(0) ? 0 : 1;
  }
  return bad == 0;
}

template <class A>
RILLE_CLONES bool finite_piece(const A* x, int64_t n) {
  int bad = 0;
#pragma omp simd reduction(| : bad)
  for (int64_t i = 0; i < n; ++i) bad |= x[i] - x[i] == A(0) ? 0 : 1;
  return bad == 0;
}

template <class A>
bool unscale_chunk(const Span& t, double factor, int64_t begin, int64_t end) {
  bool finite = true;
  A room[kPiece];
  for (int64_t at = begin; at < end; at += kPiece) {
    const int64_t n = std::min(kPiece, end - at);
    const A* x = load(t.dtype, t.data, at, n, room);
    if (factor == 1) {
      finite &= finite_piece(x, n);
      continue;
    }
    char* place = element(t.data, t.dtype, at);
    A* y = x == room ? room : reinterpret_cast<A*>(place);
    finite &= unscale_piece(x, static_cast<A>(factor), y, n);
    if (x == room) convert(kDType<A>, room, t.dtype, place, n);
  }
  return finite;
}

template <class A>
bool scale_chunk(const Span& t, double factor, int64_t begin, int64_t end) {
  bool finite = true;
  A room[kPiece];
  for (int64_t at = begin; at < end; at += kPiece) {
    const int64_t n = std::min(kPiece, end - at);
    const A* x = load(t.dtype, t.data, at, n, room);
    A* y = x == room ? room : reinterpret_cast<A*>(element(t.data, t.dtype, at));
    finite &= scale_piece(x, static_cast<A>(factor), y, n);
    if (x != room) continue;
    // Rounding to f16 may overflow: look at what is stored.
    convert(kDType<A>, room, t.dtype, element(t.data, t.dtype, at), n);
    convert(t.dtype, element(t.data, t.dtype, at), kDType<A>, room, n);
    finite &= scale_piece(room, A(1), room, n);
  }
  return finite;
}

}  // namespace

void sgd_step(std::span<const StepTensor> tensors, const Sgd& o) {
  each_chunk(tensors, [&](size_t i, int64_t, int64_t begin, int64_t end) {
    const StepTensor& t = tensors[i];
    with_accumulator(t.dtype, [&]<class A>() {
      const SgdNumbers<A> numbers{static_cast<A>(o.lr),
                                  static_cast<A>(o.momentum),
                                  static_cast<A>(1 - o.dampening),
                                  static_cast<A>(o.weight_decay),
                                  static_cast<A>(o.maximize ? -o.scale : o.scale),
                                  o.nesterov};
      each_piece<A>(t, begin, end, [&](const A* grad, A* w, int64_t at, int64_t n) {
        sgd_piece(numbers, t.step == 1, grad, w, state_at<A>(t, 0, at), n);
      });
    });
  });
}

void adam_step(std::span<const StepTensor> tensors, const Adam& o) {
  each_chunk(tensors, [&](size_t i, int64_t, int64_t begin, int64_t end) {
    const StepTensor& t = tensors[i];
    with_accumulator(t.dtype, [&]<class A>() {
      const AdamNumbers<A> n = numbers<A>(o, t.step);
      const auto step = o.amsgrad ? adam_piece<A, true> : adam_piece<A, false>;
      each_piece<A>(t, begin, end, [&](const A* grad, A* w, int64_t at, int64_t count) {
        step(n, grad, w, state_at<A>(t, 0, at), state_at<A>(t, 1, at), state_at<A>(t, 2, at),
             count);
      });
    });
  });
}

std::vector<double> square_sums(std::span<const Span> tensors) {
  std::vector<double> partial(static_cast<size_t>(chunks_of(tensors)));
  each_chunk(tensors, [&](size_t i, int64_t chunk, int64_t begin, int64_t end) {
    const Span& t = tensors[i];
    with_accumulator(t.dtype, [&]<class A>() {
      A room[kPiece];
      double sum = 0;
      for (int64_t at = begin; at < end; at += kPiece) {
        const int64_t n = std::min(kPiece, end - at);
        sum += square_sum(load(t.dtype, t.data, at, n, room), n);
      }
      partial[static_cast<size_t>(chunk)] = sum;
    });
  });
  std::vector<double> sums(tensors.size(), 0);
  size_t chunk = 0;
  for (size_t i = 0; i < tensors.size(); ++i)
    for (int64_t at = 0; at < tensors[i].n; at += kChunk) sums[i] += partial[chunk++];
  return sums;
}

double l2_norm(std::span<const Span> tensors) {
  double sum = 0;
  for (const double s : square_sums(tensors)) sum += s;
  return std::sqrt(sum);
}

bool scale_all(std::span<const Span> tensors, double factor) {
  std::vector<char> finite(static_cast<size_t>(chunks_of(tensors)));
  each_chunk(tensors, [&](size_t i, int64_t chunk, int64_t begin, int64_t end) {
    const Span& t = tensors[i];
    finite[static_cast<size_t>(chunk)] =
        with_accumulator(t.dtype, [&]<class A>() { return scale_chunk<A>(t, factor, begin, end); });
  });
  return std::all_of(finite.begin(), finite.end(), [](char ok) { return ok != 0; });
}

std::vector<char> unscale_all(std::span<const Span> tensors, double factor) {
  std::vector<char> chunks(static_cast<size_t>(chunks_of(tensors)));
  each_chunk(tensors, [&](size_t i, int64_t chunk, int64_t begin, int64_t end) {
    const Span& t = tensors[i];
    chunks[static_cast<size_t>(chunk)] = with_accumulator(
        t.dtype, [&]<class A>() { return unscale_chunk<A>(t, factor, begin, end); });
  });
  std::vector<char> finite(tensors.size(), 1);
  size_t chunk = 0;
  for (size_t i = 0; i < tensors.size(); ++i)
    for (int64_t at = 0; at < tensors[i].n; at += kChunk)
      if (!chunks[chunk++]) finite[i] = 0;
  return finite;
}

StepChange step_change(std::span<const Stepped> tensors) {
  std::vector<StepChange> partial(static_cast<size_t>(chunks_of(tensors)));
  each_chunk(tensors, [&](size_t i, int64_t chunk, int64_t begin, int64_t end) {
    const Stepped& t = tensors[i];
    StepChange& sum = partial[static_cast<size_t>(chunk)];
    double before_room[kPiece], after_room[kPiece], grad_room[kPiece];
    for (int64_t at = begin; at < end; at += kPiece) {
      const int64_t n = std::min(kPiece, end - at);
      const double* before = load(t.dtype, t.before, at, n, before_room);
      const double* after = load(t.dtype, t.after, at, n, after_room);
      const double* grad = load(t.grad_dtype, t.grad, at, n, grad_room);
      for (int64_t k = 0; k < n; ++k) {
        const double change = after[k] - before[k];
        sum.update_squares += change * change;
        sum.param_squares += after[k] * after[k];
        sum.lost += change == 0 && grad[k] != 0;
      }
    }
  });
  StepChange all;
  for (const StepChange& one : partial) {
    all.update_squares += one.update_squares;
    all.param_squares += one.param_squares;
    all.lost += one.lost;
  }
  return all;
}

}  // namespace rille::cpu
