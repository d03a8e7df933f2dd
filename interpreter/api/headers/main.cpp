// rille_headers FOLDER: writes ops.hpp and layers.hpp there.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>

#include "interpreter/api/headers/headers.h"

namespace {

constexpr size_t kWidth = 100;

// A line that is too long goes on, further in, behind a comma.
void write_line(std::ofstream& file, std::string line) {
  const size_t indent = line.find_first_not_of(' ');
  while (line.size() > kWidth) {
    const size_t comma = line.rfind(", ", kWidth - 2);
    if (comma == line.npos || comma <= indent) break;
    file << line.substr(0, comma + 1) << '\n';
    line = std::string(indent + 4, ' ') + line.substr(comma + 2);
  }
  file << line << '\n';
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    write_line(file, text.substr(at, end - at));
  }
  file.close();
  if (!file) std::fprintf(stderr, "rille_headers: %s can't be written\n", path.c_str());
  return static_cast<bool>(file);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: rille_headers FOLDER\n");
    return 2;
  }
  try {
    const std::string folder = words[1];
    return write(folder + "/ops.hpp", rille::headers::ops_header()) &&
                   write(folder + "/layers.hpp", rille::headers::layers_header())
               ? 0
               : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "rille_headers: %s\n", e.what());
    return 1;
  }
}
