// Feeds a fuzz target where libFuzzer is not at hand: first every file of the corpus as it is, then
// mutations of them, for as long as asked. `target SECONDS CORPUS [SEED]`; a fault ends the
// program, and the input that caused it lies in crash.bin. Built by clang with -fsanitize=fuzzer, a
// target needs only itself.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

std::vector<Bytes> read_corpus(const std::filesystem::path& folder) {
  std::vector<Bytes> corpus;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  if (corpus.empty()) corpus.emplace_back();
  return corpus;
}

size_t below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }

// Values that parsers get wrong: ends of ranges, and digits and quotes of text formats.
uint8_t odd_byte(Random& random) {
  constexpr uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, '"', '{', '}', '[', ']', ',', '-', '9', 'e'};
  return random() % 2 ? odd[below(random, std::size(odd))] : static_cast<uint8_t>(random());
}

void change_once(Bytes& bytes, const Bytes& other, Random& random) {
  const size_t at = below(random, bytes.size() + 1);
  const size_t length = below(random, 1 + std::min<size_t>(bytes.size() - at, 16));
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 5) {
    case 0: bytes.insert(place, odd_byte(random)); break;
    case 1: bytes.erase(place, place + static_cast<std::ptrdiff_t>(length)); break;
    case 2: bytes.resize(at); break;
    case 3: {
      const size_t from = below(random, other.size());
      const size_t count = below(random, 1 + std::min<size_t>(other.size() - from, 64));
      const auto begin = other.begin() + static_cast<std::ptrdiff_t>(from);
      bytes.insert(place, begin, begin + static_cast<std::ptrdiff_t>(count));
      break;
    }
    default:
      if (at < bytes.size()) bytes[at] = odd_byte(random);
  }
}

void run_one(const Bytes& bytes) {
  // Written before the call: whatever ends the process leaves its input behind.
  std::ofstream("crash.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s SECONDS CORPUS [SEED]\n", argv[0]);
    return 2;
  }
  Random random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : std::random_device{}());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  const std::vector<Bytes> corpus = read_corpus(argv[2]);
  const auto folder = std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(random()));
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);

  for (const Bytes& bytes : corpus) run_one(bytes);
  long runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    Bytes bytes = corpus[below(random, corpus.size())];
    for (size_t n = 1 + below(random, 8); n > 0; --n) {
      change_once(bytes, corpus[below(random, corpus.size())], random);
    }
    run_one(bytes);
  }
  std::filesystem::remove_all(folder);
  std::printf("%zu files, %ld mutations\n", corpus.size(), runs);
}
