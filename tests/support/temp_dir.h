// A folder of a test's own, gone with it; and where the stored fixtures lie.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace rille::test {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rille-test-XXXXXX").string();
    if (!mkdtemp(pattern.data())) std::abort();
    path_ = pattern;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Writes plainly: a test that makes thousands of files has no time for fsync.
inline void put_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// tests/support/fixtures/<name>. The build names the folder: __FILE__ may be relative to anything.
inline std::string fixture(const std::string& name) {
  return std::string(RILLE_TEST_DIR) + "/support/fixtures/" + name;
}

}  // namespace rille::test
