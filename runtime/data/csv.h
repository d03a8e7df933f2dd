// Tables as text: RFC 4180 with any one-byte separator; quoted fields may hold separators, quotes
// and line ends. A column is integers where every field is one, numbers where every field is one,
// else text. Integers beyond 64 bits stay text: a number would be another one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rille::data {

struct CsvColumn {
  std::string name;  // from the header, else "column1", ...
  std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>> values;
};

/// E_FORMAT with the line for rows of unequal length, a quote that is never closed, a name that
/// occurs twice, and a file without rows.
std::vector<CsvColumn> parse_csv(std::string_view text, bool header, char separator,
                                 std::string_view label = "text");

/// The same of a file; E_IO names the path.
std::vector<CsvColumn> read_csv(const std::string& path, bool header, char separator);

}  // namespace rille::data
