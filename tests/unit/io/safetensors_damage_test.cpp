// Our own files damaged: every byte flipped, every length cut. Always an error.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <random>

#include "io/checkpoints.h"
#include "support/errors.h"
#include "support/temp_dir.h"

using namespace rille::io;
using rille::DType;
using rille::Error;
using rille::test::code_of;
using rille::test::error_of;
using rille::test::mentions;
using rille::test::put_file;
using rille::test::TempDir;

namespace {

/// All that a file says, as one text.
std::string content(const std::string& path) {
  const SafetensorsFile file(path);
  std::string all;
  for (const TensorEntry& e : file.entries()) {
    all += e.name + "|" + std::string(e.tag) + "|";
    for (const int64_t n : e.shape) all += std::to_string(n) + ",";
    std::string data(e.nbytes, '\0');
    file.read_raw(e, data.data());
    all += data + "\n";
  }
  for (const auto& [key, value] : file.metadata()) all += key + "=" + value + "\n";
  return all;
}

void write_sample(const std::string& path) {
  const float x[] = {1, 2, 3, 4, 5, 6};
  const int64_t ids[] = {7, -8};
  const uint8_t mask[] = {1, 0, 1};
  write_safetensors(path,
                    {{"weight", DType::f32, {2, 3}, x},
                     {"ids", DType::i64, {2}, ids},
                     {"mask", DType::boolean, {3}, mask},
                     {"none", DType::f16, {0, 3}, nullptr}},
                    {{"step", "12"}, {"rille.tree", "{\"lr\":0.1}"}});
}

bool is_typed(const std::string& code) { return code == "E_FORMAT" || code == "E_CKPT_TORN"; }

}  // namespace

TEST_CASE("damage: every byte of a file, flipped in every bit and set to common values", "[io]") {
  TempDir dir;
  write_sample(dir / "f");
  const std::string good = read_text(dir / "f");
  for (size_t at = 0; at < good.size(); ++at) {
    std::vector<char> changes;
    for (int bit = 0; bit < 8; ++bit) changes.push_back(static_cast<char>(good[at] ^ (1 << bit)));
    for (const char c : {'\0', '\xff', ' ', '0', '9', 'I', 'U', 'F', '"'}) changes.push_back(c);
    for (const char c : changes) {
      if (c == good[at]) continue;
      std::string bad = good;
      bad[at] = c;
      put_file(dir / "bad", bad);
      const std::string code = code_of([&] { content(dir / "bad"); });
      INFO("byte " << at << " of " << good.size() << " is " << int(c) << ", code " << code);
      REQUIRE(is_typed(code));
    }
  }
}

TEST_CASE("damage: every length that a file can be cut to", "[io]") {
  TempDir dir;
  write_sample(dir / "f");
  const std::string good = read_text(dir / "f");
  for (size_t n = 0; n < good.size(); ++n) {
    put_file(dir / "bad", good.substr(0, n));
    const Error e = error_of([&] { content(dir / "bad"); });
    REQUIRE(e.code() == "E_FORMAT");
    REQUIRE(mentions(e, "/bad'"));
  }
  put_file(dir / "bad", good + '\0');
  CHECK(code_of([&] { content(dir / "bad"); }) == "E_FORMAT");
}

TEST_CASE("damage: a flipped bit names the tensor, wherever it is read", "[io]") {
  TempDir dir;
  write_sample(dir / "f");
  std::string bytes = read_text(dir / "f");
  bytes[bytes.size() - 4] =
      static_cast<char>(bytes[bytes.size() - 4] ^ 4);  // in weight's last value
  put_file(dir / "f", bytes);
  SafetensorsFile file(dir / "f");
  float x[6];
  for (const Error& e :
       {error_of([&] { file.read(*file.find("weight"), x); }),
        error_of([&] { file.view(*file.find("weight")); }), error_of([&] { file.verify(); })}) {
    CHECK(e.code() == "E_CKPT_TORN");
    CHECK(mentions(e, "'weight' fails its checksum"));
    CHECK(mentions(e, dir / "f"));
  }
  int64_t ids[2];
  file.read(*file.find("ids"), ids);
  CHECK(ids[1] == -8);
}

TEST_CASE("damage: checksums that do not fit the tensors", "[io]") {
  TempDir dir;
  const auto with = [&](const std::string& metadata) {
    const std::string json = "{\"__metadata__\":{" + metadata +
                             "},\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    const uint64_t n = json.size();
    put_file(dir / "f", std::string(reinterpret_cast<const char*>(&n), 8) + json + "x");
    return code_of([&] { content(dir / "f"); });
  };
  CHECK(with("\"k\":\"v\"").empty());
  CHECK(with("\"rille.crc32c\":\"{}\"") == "E_CKPT_TORN");
  CHECK(with("\"rille.crc32c.header\":\"00000000\"") == "E_CKPT_TORN");
  CHECK(with("\"rille.crc32c\":\"{}\",\"rille.crc32c.header\":\"00000000\"") == "E_CKPT_TORN");
  CHECK(with("\"rille.crc32c\":\"{}\",\"rille.crc32c.header\":\"zz\"") == "E_CKPT_TORN");
}

namespace {

constexpr int64_t kCells = 20000;

/// Saves step after step, telling each on the pipe once it is done, until killed.
[[noreturn]] void save_for_ever(const std::string& folder, int64_t step, int out) {
  const CheckpointFolder checkpoints(folder, 2);
  std::vector<int64_t> x(kCells);
  for (;; ++step) {
    x.assign(x.size(), step);
    checkpoints.save(step, {{"x", DType::i64, {kCells}, x.data()}},
                     {{"step", std::to_string(step)}});
    if (::write(out, &step, sizeof step) != sizeof step) ::_exit(1);
  }
}

/// Kills savers at random moments; every time the newest file must be whole and not older than the
/// last that was reported.
void kill_savers(int rounds) {
  TempDir dir;
  const CheckpointFolder checkpoints(dir / "run", 2);
  std::mt19937 random(1);
  int64_t committed = -1;
  for (int round = 0; round < rounds; ++round) {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        save_for_ever(dir / "run", committed + 1, pipe_ends[1]);
      } catch (...) {
        ::_exit(2);
      }
    }
    ::close(pipe_ends[1]);
    ::usleep(static_cast<useconds_t>(1000 + random() % 25000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    int64_t told = 0;
    while (::read(pipe_ends[0], &told, sizeof told) == sizeof told) committed = told;
    ::close(pipe_ends[0]);

    const Newest newest = checkpoints.newest(true);
    if (!newest.found) {
      REQUIRE(committed == -1);
      continue;
    }
    REQUIRE(newest.found->step >= committed);
    const SafetensorsFile file(newest.found->path);
    std::vector<int64_t> x(kCells);
    file.read(*file.find("x"), x.data());
    REQUIRE(x == std::vector<int64_t>(x.size(), newest.found->step));
    committed = newest.found->step;
  }
  // The next saver clears away what the killed ones left.
  checkpoints.save(committed + 1, {}, {});
  for (const std::string& name : list_dir(dir / "run")) CHECK_FALSE(name.ends_with(".tmp"));
}

}  // namespace

TEST_CASE("damage: savers killed in the middle", "[io]") { kill_savers(50); }
TEST_CASE("damage: thousands of savers killed in the middle", "[io][slow]") { kill_savers(5000); }
