// Loaders of C++: their orders are those of scripts' loaders, index by index, and batches don't
// depend on who makes them.
#include <algorithm>
#include <numeric>
#include <ranges>

#include "api/loaders.h"

using namespace rille;
using namespace rille::test;

static_assert(std::ranges::input_range<data::Loader>);

namespace {

constexpr const char* kLoaders = R"(
  local rille = require "rille"
  local data = rille.data
  local function drain(loader, epoch)
    local all = {}
    for batch in loader:iter(epoch) do all[#all + 1] = batch.x:tolist() end
    return all
  end
  function shuffled(n, batch, seed, drop_last, epoch)
    local set = data.table { x = rille.arange(0, n - 1) }
    return drain(data.Loader(set, {
      batch = batch, seed = seed, shuffle = true, drop_last = drop_last,
    }), epoch)
  end
  local function noisy()
    return data.Loader(data.table { x = rille.arange(0, 9) }, {
      batch = 3, seed = 5, shuffle = true,
      transform = function(item)
        return { x = item.x:to("f32") + rille.rand(2):sum() }
      end,
    })
  end
  function random(epoch) return drain(noisy(), epoch) end
  function after_two()
    local loader = noisy()
    local next_batch = loader:iter()
    next_batch()
    next_batch()
    return loader:state()
  end
)";

data::Loader noisy_loader(int64_t workers) {
  return data::Loader(noisy(10), {.batch = 3, .shuffle = true, .workers = workers, .seed = 5});
}

}  // namespace

TEST_CASE("a shuffled epoch has the order of scripts' loaders", "[loader]") {
  Interpreter lua;
  must_run(lua, kLoaders);
  const auto script = lua.function<Batches(int64_t, int64_t, int64_t, bool, int64_t)>("shuffled");
  for (const int64_t n : {1, 10, 57})
    for (const int64_t batch : {1, 3, 16})
      for (const int64_t seed : {int64_t{0}, int64_t{42}, int64_t{-1}, int64_t{1} << 40})
        for (const bool drop_last : {false, true}) {
          data::Loader loader(numbers(n), {.batch = batch,
                                           .shuffle = true,
                                           .drop_last = drop_last,
                                           .seed = static_cast<uint64_t>(seed)});
          for (const int64_t epoch : {1, 2, 3})
            CHECK(drain(loader) == script(n, batch, seed, drop_last, epoch));
          CHECK(drain(loader, 77) == script(n, batch, seed, drop_last, 77));
        }
  // In numbers, from 0: what a plain Lua computes by the formula of runtime/data/order.h.
  data::Loader loader(numbers(10), {.batch = 10, .shuffle = true, .seed = 42});
  CHECK(drain(loader) == Batches{{4, 1, 7, 3, 5, 9, 8, 6, 2, 0}});
  CHECK(drain(loader) == Batches{{8, 7, 0, 3, 2, 4, 1, 5, 6, 9}});
}

TEST_CASE("what samples draw is what scripts' samples draw", "[loader]") {
  Interpreter lua;
  must_run(lua, kLoaders);
  const auto script = lua.function<Batches(int64_t)>("random");
  data::Loader loader = noisy_loader(0);
  for (const int64_t epoch : {1, 2}) CHECK(drain(loader, epoch) == script(epoch));
}

TEST_CASE("a script's state goes on in C++", "[loader]") {
  Interpreter lua;
  must_run(lua, kLoaders);
  const Value state = lua.call("after_two").value();
  data::Loader loader = noisy_loader(0);
  const Batches whole = drain(loader, 1);
  loader.load_state({.epoch = state["epoch"].as<int64_t>(),
                     .batches = state["batches"].as<int64_t>(),
                     .items = state["items"].as<int64_t>(),
                     .batch = state["batch"].as<int64_t>(),
                     .seed = state["seed"].as<uint64_t>(),
                     .order_seed = state["order_seed"].as<uint64_t>()});
  CHECK(drain(loader) == Batches{whole[2], whole[3]});
}

TEST_CASE("every sample comes once an epoch", "[loader]") {
  data::Loader loader(numbers(1000), {.batch = 7, .shuffle = true});
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::vector<double> all, sorted(1000);
    for (const auto& batch : drain(loader)) all.insert(all.end(), batch.begin(), batch.end());
    std::iota(sorted.begin(), sorted.end(), 0);
    CHECK(all != sorted);
    std::sort(all.begin(), all.end());
    CHECK(all == sorted);
  }
}

TEST_CASE("ten samples in threes: four batches, or three full ones", "[loader]") {
  data::Loader loader(numbers(10), {.batch = 3}),
      full(numbers(10), {.batch = 3, .drop_last = true});
  CHECK(loader.size() == 4);
  CHECK(full.size() == 3);
  CHECK(drain(loader) == Batches{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9}});
  CHECK(drain(full) == Batches{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}});
  data::Loader single(numbers(3)), bare(numbers(3), {.batch = 0}), none(numbers(0), {.batch = 3});
  CHECK(single.next()->front().shape() == Shape{1});
  CHECK(bare.next()->front().shape().empty());
  CHECK(bare.size() == 3);
  CHECK(none.size() == 0);
  CHECK(drain(none).empty());
  CHECK_FALSE(none.next());
}

TEST_CASE("a sampler is the order, sample by sample", "[loader]") {
  for (const int64_t workers : {0, 2}) {
    data::Loader loader(
        numbers(10),
        {.batch = 2, .sampler = std::vector<int64_t>{9, 0, 0, 4, 7}, .workers = workers});
    CHECK(loader.size() == 3);
    for (int epoch = 0; epoch < 2; ++epoch) CHECK(drain(loader) == Batches{{9, 0}, {0, 4}, {7}});
  }
}

TEST_CASE("batches don't depend on the number of workers", "[loader]") {
  data::Loader alone = noisy_loader(0);
  const Batches first = drain(alone, 1), second = drain(alone, 2);
  CHECK(first != second);
  for (const int64_t workers : {1, 3}) {
    data::Loader loader = noisy_loader(workers);
    CHECK(drain(loader) == first);
    CHECK(drain(loader) == second);
    CHECK(drain(loader, 1) == first);
  }
}

TEST_CASE("drawing batches leaves the thread's random numbers and modes alone", "[loader]") {
  seed(9);
  const std::vector<double> wanted = list(rand({2}));
  for (const int64_t workers : {0, 1}) {
    data::Loader loader = noisy_loader(workers);
    seed(9);
    drain(loader);
    CHECK(list(rand({2})) == wanted);
    CHECK(is_grad_enabled());
  }
}

TEST_CASE("rows in one go are the rows one by one", "[loader]") {
  seed(1);
  const Tensor x = randn({20, 3, 2}), y = Tensor::of(std::vector<int64_t>(20, 7));
  const auto tensors = std::make_shared<const data::TensorDataset>(
      data::TensorDataset({x.requires_grad_(), y, x.transpose(1, 2)}));
  const data::FunctionDataset rows(20, [&](int64_t i) { return tensors->get(i); });
  const data::LoaderOptions options = {.batch = 6, .shuffle = true, .seed = 3};
  data::Loader a(tensors, options), b(rows, options);
  for (int i = 0; i < 4; ++i) {
    const data::Batch p = *a.next(), q = *b.next();
    REQUIRE(p.size() == 3);
    REQUIRE(q.size() == 3);
    CHECK_FALSE(p[0].requires_grad());
    for (size_t k = 0; k < 3; ++k) {
      CHECK(p[k].shape() == q[k].shape());
      CHECK(p[k].dtype() == q[k].dtype());
      CHECK(list(p[k]) == list(q[k]));
    }
  }
  CHECK_FALSE(a.next());
}

TEST_CASE("a dataset of one's own, and a collate", "[loader]") {
  struct Triangle : data::Dataset {
    int64_t size() const override { return 4; }
    data::Sample get(int64_t i) const override {
      return {ones({i + 1}), Tensor::scalar(static_cast<double>(i))};
    }
  };
  const auto padded = [](const std::vector<data::Sample>& samples) {
    int64_t widest = 0;
    for (const auto& s : samples) widest = std::max(widest, s[0].size(0));
    std::vector<data::Sample> equal;
    for (const auto& s : samples) {
      const Tensor row = zeros({widest});
      row.slice(0, 0, s[0].size(0)).copy_(s[0]);
      equal.push_back({row, s[1]});
    }
    return data::collate(equal);
  };
  for (const int64_t workers : {0, 2}) {
    data::Loader loader(Triangle(), {.batch = 2, .workers = workers, .collate = padded});
    std::vector<Shape> shapes;
    std::vector<double> labels;
    for (auto& batch : loader) {
      shapes.push_back(batch[0].shape());
      for (const double label : list(batch[1])) labels.push_back(label);
    }
    CHECK(shapes == std::vector<Shape>{{2, 2}, {2, 4}});
    CHECK(labels == std::vector<double>{0, 1, 2, 3});
  }
}

TEST_CASE("epochs go on by themselves, and can be chosen", "[loader]") {
  data::Loader loader(numbers(20), {.batch = 20, .shuffle = true, .seed = 1});
  const Batches first = drain(loader), second = drain(loader), third = drain(loader);
  CHECK(first != second);
  CHECK(drain(loader, 2) == second);
  CHECK(drain(loader) == third);
  CHECK(loader.state().epoch == 4);
  CHECK(drain(loader, 1) == first);
  CHECK(list(loader.next()->front()) == second[0]);
  CHECK_FALSE(loader.next());
  CHECK(list(loader.next()->front()) == third[0]);
}
