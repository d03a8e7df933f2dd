// Loaders of C++: what goes wrong, in workers and without; loops that are left; states.
#include <atomic>

#include "api/loaders.h"

using namespace rille;
using namespace rille::test;

namespace {

using namespace std::chrono_literals;

std::string option_refused(data::LoaderOptions options) {
  const Error e = refused([&] { data::Loader(numbers(10), std::move(options)); });
  CHECK(e.op == "Loader");
  return e.code + " " + e.message;
}

data::FunctionDataset failing_at(int64_t bad, std::function<void()> fail) {
  return data::FunctionDataset(6, [=](int64_t i) {
    if (i == bad) fail();
    return data::Sample{Tensor::scalar(static_cast<double>(i))};
  });
}

void bad_record() { throw Error(ErrorKind::data, "E_FORMAT", "no record", "write one"); }

}  // namespace

TEST_CASE("options that exclude each other, or are out of range", "[loader]") {
  const std::vector<int64_t> order = {0, 1};
  CHECK(option_refused({.shuffle = true, .sampler = order}) ==
        "E_OPTION 'sampler' and 'shuffle' exclude each other");
  CHECK(option_refused({.batch = 0, .drop_last = true}) == "E_OPTION 'drop_last' needs batches");
  CHECK(option_refused({.batch = 0, .collate = [](const auto& s) { return s[0]; }}) ==
        "E_OPTION 'collate' needs batches");
  CHECK(option_refused({.prefetch = 2}) == "E_OPTION 'prefetch' needs workers");
  CHECK(option_refused({.persistent = true}) == "E_OPTION 'persistent' needs workers");
  CHECK(option_refused({.batch = -1}) == "E_ARG 'batch' must not be negative, got -1");
  CHECK(option_refused({.workers = -1}) == "E_ARG 'workers' must be between 0 and 1024, got -1");
  CHECK(option_refused({.workers = 1025}) ==
        "E_ARG 'workers' must be between 0 and 1024, got 1025");
  CHECK(option_refused({.workers = 1, .prefetch = 0}) ==
        "E_ARG 'prefetch' must be between 1 and 1048576, got 0");
  CHECK(option_refused({.timeout = -0.5}) == "E_ARG 'timeout' must not be negative, got -0.5");
  CHECK(option_refused({.sampler = std::vector<int64_t>{0, 10}}) ==
        "E_INDEX 'sampler' names sample 10, but there are 10");
  CHECK(option_refused({.sampler = std::vector<int64_t>{-1}}) ==
        "E_INDEX 'sampler' names sample -1, but there are 10");
}

TEST_CASE("datasets that make no sense", "[loader]") {
  const auto text = [](auto&& f) {
    const Error e = refused(f);
    return e.code + " " + e.op + ": " + e.message;
  };
  const Tensor three = zeros({3, 2}), four = zeros({4});
  CHECK(text([&] { data::TensorDataset({}); }) ==
        "E_ARG TensorDataset: a dataset needs a tensor or more");
  CHECK(text([&] {
          data::TensorDataset({three, four});
        }) == "E_ARG TensorDataset: tensors differ in samples: tensor 0 has 3, tensor 1 has 4");
  CHECK(text([&] { data::TensorDataset({Tensor::scalar(1)}); }) ==
        "E_ARG TensorDataset: tensor 0 has no dims, and so no samples");
  CHECK(text([&] { data::TensorDataset({three}).get(3); }) ==
        "E_INDEX TensorDataset: sample 3, but there are 3");
  CHECK(text([] { data::FunctionDataset(-1, [](int64_t) { return data::Sample(); }); }) ==
        "E_ARG FunctionDataset: 'size' must not be negative, got -1");
  CHECK(text([] { data::FunctionDataset(1, {}); }) ==
        "E_TYPE FunctionDataset: 'get' must be a function, got none");
  CHECK(text([] { data::Loader(std::shared_ptr<const data::Dataset>()); }) ==
        "E_TYPE Loader: 'set' must be a dataset, got none");
  data::Loader moved(numbers(3));
  const data::Loader to = std::move(moved);
  CHECK(text([&] { moved.size(); }) == "E_STATE : the loader was moved to another variable");
}

TEST_CASE("samples of unequal shape are no batch", "[loader]") {
  const data::FunctionDataset uneven(6, [](int64_t i) {
    return data::Sample{zeros({2}), zeros({i == 4 ? 3 : 2, 1})};
  });
  const data::FunctionDataset uneven_alone(
      6, [](int64_t i) { return data::Sample{zeros({i == 4 ? 3 : 2})}; });
  const data::FunctionDataset uncounted(
      6, [](int64_t i) { return data::Sample(i == 4 ? 1 : 2, zeros({2})); });
  for (const int64_t workers : {0, 1}) {
    const auto error = [&](const data::FunctionDataset& set) {
      data::Loader loader(set, {.batch = 3, .workers = workers});
      REQUIRE(loader.next());
      return refused([&] { loader.next(); });
    };
    const Error e = error(uneven);
    CHECK(e.code == "E_COLLATE_SHAPE");
    CHECK(e.op == "collate");
    CHECK(e.message == "samples 3 and 4 differ in shape in tensor 1: [2, 1] and [3, 1]");
    CHECK(e.hint == "a collate of one's own can pad them to one size");
    CHECK(e.facts == (workers ? std::vector<std::string>{"worker 0"} : std::vector<std::string>{}));
    CHECK(error(uneven_alone).message == "samples 3 and 4 differ in shape: [2] and [3]");
    CHECK(error(uncounted).message ==
          "samples 3 and 4 differ in how many tensors they have: 2 and 1");
  }
}

TEST_CASE("a sample's error arrives whole, and names the sample and the worker", "[loader]") {
  for (const int64_t workers : {0, 1}) {
    data::Loader loader(failing_at(4, bad_record), {.batch = 2, .workers = workers});
    std::vector<double> had;
    const Error e = refused([&] {
      for (const auto& batch : loader) had.push_back(list(batch[0])[0]);
    });
    CHECK(had == std::vector<double>{0, 2});
    CHECK(e.kind == ErrorKind::data);
    CHECK(e.code == "E_FORMAT");
    CHECK(e.message == "no record");
    CHECK(e.hint == "write one");
    CHECK(e.facts == (workers ? std::vector<std::string>{"sample 4", "worker 0"}
                              : std::vector<std::string>{"sample 4"}));
    CHECK_FALSE(loader.next());
  }
}

TEST_CASE("an op's error in a sample keeps its code, and the batch after comes", "[loader]") {
  const auto set = failing_at(2, [] { matmul(zeros({2, 3}), zeros({4, 5})); });
  for (const int64_t workers : {0, 3}) {
    data::Loader loader(set, {.batch = 2, .workers = workers});
    CHECK(list(loader.next()->front()) == std::vector<double>{0, 1});
    const Error e = refused([&] { loader.next(); });
    CHECK(e.code == "E_SHAPE");
    CHECK(e.op == "matmul");
    CHECK(loader.state().batches == 2);
    CHECK(list(loader.next()->front()) == std::vector<double>{4, 5});
  }
}

TEST_CASE("what a worker throws that is no error of ours", "[loader]") {
  const auto broken = failing_at(4, [] { throw std::runtime_error("the disk is gone"); });
  data::Loader alone(broken, {.batch = 2});
  CHECK_THROWS_AS(drain(alone), std::runtime_error);
  data::Loader loader(broken, {.batch = 2, .workers = 1});
  const Error e = refused([&] { drain(loader); });
  CHECK(e.kind == ErrorKind::data);
  CHECK(e.code == "E_WORKER");
  CHECK(e.message == "worker 0 failed, sample 4");
  CHECK(e.facts == std::vector<std::string>{"the disk is gone"});
  data::Loader odd(failing_at(0, [] { throw 1; }), {.workers = 1});
  CHECK(refused([&] { drain(odd); }).facts ==
        std::vector<std::string>{"it threw no std::exception"});
}

TEST_CASE("a batch that is late is an error, and comes later", "[loader]") {
  std::atomic<bool> go = false;
  const data::FunctionDataset slow(2, [&](int64_t i) {
    while (i == 1 && !go) std::this_thread::sleep_for(1ms);
    return data::Sample{Tensor::scalar(static_cast<double>(i))};
  });
  data::Loader loader(slow, {.workers = 1, .timeout = 0.25});
  CHECK(list(loader.next()->front()) == std::vector<double>{0});
  for (int i = 0; i < 2; ++i) {
    const Error e = refused([&] { loader.next(); });
    CHECK(e.code == "E_WORKER");
    CHECK(e.message == "no batch within 0.25 seconds");
    CHECK(loader.state().batches == 1);
  }
  go = true;
  CHECK(list(loader.next()->front()) == std::vector<double>{1});
  CHECK_FALSE(loader.next());
}

TEST_CASE("a loop that is left early does not spoil the next", "[loader]") {
  for (const bool persistent : {false, true}) {
    data::Loader loader(noisy(12), {.batch = 2, .workers = 2, .persistent = persistent, .seed = 5});
    const Batches whole = drain(loader, 1);
    for (int i = 0; i < 3; ++i) {
      loader.set_epoch(2);
      for (const auto& batch : loader)
        if (list(batch[0])[0] >= 2) break;
      CHECK(drain(loader, 1) == whole);
    }
    for (const auto& batch : loader) {
      CHECK(batch.size() == 1);
      CHECK(drain(loader, 1) == whole);  // a loop inside: the one around it is over
    }
  }
}

TEST_CASE("a loader ends in mid-epoch, after the samples that are at work", "[loader]") {
  std::atomic<bool> released = false;
  std::atomic<int> inside = 0;
  const data::FunctionDataset held(1000, [&](int64_t) {
    ++inside;
    while (!released) std::this_thread::sleep_for(1ms);
    --inside;
    return data::Sample{zeros({1})};
  });
  const auto end_it = [&](auto&& end) {
    while (inside < 3) std::this_thread::sleep_for(1ms);
    std::thread releaser([&] {
      std::this_thread::sleep_for(30ms);
      released = true;
    });
    end();
    CHECK(released);  // it waited
    CHECK(inside == 0);
    releaser.join();
    released = false;
  };
  const data::LoaderOptions options = {.batch = 50, .workers = 3, .prefetch = 4, .timeout = 0.02};
  auto loader = std::make_unique<data::Loader>(held, options);
  for (int i = 0; i < 2; ++i) {
    CHECK(code_of([&] { loader->next(); }) == "E_WORKER");
    end_it([&] { loader->close(); });
  }
  CHECK(code_of([&] { loader->next(); }) == "E_WORKER");
  end_it([&] { loader.reset(); });
}

TEST_CASE("a state goes on exactly, with any number of workers", "[loader]") {
  const auto make = [](int64_t workers, uint64_t seed = 5) {
    return data::Loader(noisy(10), {.batch = 3, .shuffle = true, .workers = workers, .seed = seed});
  };
  data::Loader alone = make(0);
  const Batches first = drain(alone), second = drain(alone);
  for (const auto& [before, after] : {std::pair{0, 2}, {2, 0}, {3, 1}})
    for (int had = 0; had <= 4; ++had) {
      data::Loader loader = make(before);
      for (int i = 0; i < had; ++i) loader.next();
      const data::LoaderState state = loader.state();
      CHECK(state == data::LoaderState{1, had, 10, 3, 5, 5});
      data::Loader other = make(after, 6);  // a state takes its seeds along
      other.next();
      other.load_state(state);
      CHECK(other.state() == state);
      CHECK(drain(other) == Batches(first.begin() + had, first.end()));
      CHECK(drain(other) == second);
    }
  CHECK(alone.state() == data::LoaderState{3, 0, 10, 3, 5, 5});
  alone.load_state(make(0).state());
  CHECK(drain(alone) == first);
  alone.load_state({.epoch = 1, .batches = 2, .items = 10, .batch = 3, .seed = 5, .order_seed = 5});
  CHECK(drain(alone, 2) == second);  // another epoch than the state's is whole
}

TEST_CASE("a state of another loader is refused", "[loader]") {
  data::Loader loader(numbers(10), {.batch = 3, .seed = 1});
  const auto text = [&](const data::LoaderState& state) {
    const Error e = refused([&] { loader.load_state(state); });
    return e.code + " " + e.op + ": " + e.message;
  };
  const data::LoaderState good = loader.state();
  data::LoaderState bad = good;
  bad.items = 12;
  CHECK(text(bad) ==
        "E_STATE Loader.load_state: the state is of a loader with items = 12, here it is 10");
  bad = good;
  bad.batch = 4;
  CHECK(text(bad) ==
        "E_STATE Loader.load_state: the state is of a loader with batch = 4, here it is 3");
  bad = good;
  bad.batches = 5;
  CHECK(text(bad) == "E_STATE Loader.load_state: the state is of batch 5, there are 4");
  CHECK(loader.state() == good);
}
