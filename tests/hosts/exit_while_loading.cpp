// Ends by exit() in the middle of an epoch, while workers are at samples. What was there before the
// loader must outlive them: a worker that finds it gone ends the process with another status.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "rille/rille.hpp"

using namespace rille;

namespace {

std::atomic<bool> gone = false;

struct Rows {
  std::vector<float> values = std::vector<float>(1000, 0.5F);
  ~Rows() {
    gone = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
};

}  // namespace

int main() {
  static const Rows rows;
  const data::FunctionDataset set(1000, [](int64_t i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (gone) std::_Exit(3);
    return data::Sample{Tensor::scalar(rows.values[static_cast<size_t>(i)]) + randn({100})};
  });
  data::Loader loader(set, {.batch = 2, .workers = 3, .prefetch = 1000});
  int had = 0;
  for (const auto& batch : loader)
    if (batch.size() == 1 && ++had == 3) std::exit(0);
  return 4;
}
