#include "data/csv.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "core/budget.h"
#include "core/fail.h"
#include "io/file.h"
#include "io/utf8.h"

namespace rille::data {
namespace {

using Row = std::vector<std::string>;

// Walks over the text; line numbers are for messages.
class Scanner {
 public:
  Scanner(std::string_view text, char separator, std::string_view label)
      : text_(text), separator_(separator), label_(label) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  bool more() const { return at_ < text_.size(); }
  int64_t line() const { return line_; }

  /// One row; empty lines between rows are skipped by the caller.
  Row row() {
    Row out;
    do out.push_back(field());
    while (take(separator_));
    take('\r');
    if (more() && !take('\n')) fail("text after the closing quote");
    ++line_;
    return out;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw format_error("'{}' line {}: {}", io::shown(label_), line_, what);
  }

 private:
  bool take(char c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string field() {
    if (take('"')) return quoted();
    const size_t from = at_;
    while (more() && text_[at_] != separator_ && text_[at_] != '\n') ++at_;
    size_t to = at_;
    if ((!more() || text_[at_] == '\n') && to > from && text_[to - 1] == '\r') --to;
    return std::string(text_.substr(from, to - from));
  }

  std::string quoted() {
    std::string out;
    const int64_t first = line_;
    while (more()) {
      const char c = text_[at_++];
      if (c == '"' && !take('"')) return out;
      line_ += c == '\n';
      out += c;
    }
    line_ = first;
    fail("a quote is never closed");
  }

  std::string_view text_;
  char separator_;
  std::string_view label_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

template <class T>
bool reads_as(const std::string& text, T& value) {
  const char* first = text.data();
  const char* last = first + text.size();
  while (first < last && *first == ' ') ++first;
  while (last > first && last[-1] == ' ') --last;
  if (first < last && *first == '+') ++first;
  const auto [end, error] = std::from_chars(first, last, value);
  return error == std::errc() && end == last && first < last;
}

// The column as numbers of type T, if every field is one.
template <class T>
bool all_read_as(const std::vector<Row>& rows, size_t column, std::vector<T>& values) {
  values.clear();
  for (const Row& row : rows) {
    T value{};
    if (!reads_as(row[column], value)) return false;
    values.push_back(value);
  }
  return true;
}

// Digits alone that no 64 bits hold.
bool has_long_integer(const std::vector<Row>& rows, size_t column) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
    const std::string& text = row[column];
    int64_t value = 0;
    return text.find_first_not_of(" +-0123456789") == std::string::npos &&
           text.find_first_of("0123456789") != std::string::npos && !reads_as(text, value);
  });
}

CsvColumn column_of(std::string name, std::vector<Row>& rows, size_t column) {
  std::vector<int64_t> integers;
  if (all_read_as(rows, column, integers)) return {std::move(name), std::move(integers)};
  std::vector<double> numbers;
  if (!has_long_integer(rows, column) && all_read_as(rows, column, numbers))
    return {std::move(name), std::move(numbers)};
  std::vector<std::string> texts;
  for (Row& row : rows) texts.push_back(std::move(row[column]));
  return {std::move(name), std::move(texts)};
}

// With its column, and what both take while they grow.
int64_t bytes_of(const Row& row) {
  size_t bytes = 3 * sizeof(Row);
  for (const std::string& field : row) bytes += 2 * (sizeof field + field.size());
  return static_cast<int64_t>(bytes);
}

void check_names(const Row& names, const Scanner& scanner) {
  std::unordered_set<std::string_view> known;
  for (const std::string& name : names)
    if (!known.insert(name).second)
      scanner.fail(fmt::format("the column '{}' occurs twice", io::shown(name)));
}

}  // namespace

std::vector<CsvColumn> parse_csv(std::string_view text, bool header, char separator,
                                 std::string_view label) {
  Scanner scanner(text, separator, label);
  Row names;
  std::vector<Row> rows;
  Charge rows_charge;
  while (scanner.more()) {
    const bool first = names.empty();
    Row row = scanner.row();
    if (row.size() == 1 && row[0].empty()) continue;  // an empty line
    if (first && header) {
      check_names(row, scanner);
      names = std::move(row);
      continue;
    }
    for (size_t i = names.size(); first && i < row.size(); ++i)
      names.push_back(fmt::format("column{}", i + 1));
    if (row.size() != names.size())
      throw format_error("'{}' line {}: {} fields, but the first row has {}", io::shown(label),
                         scanner.line() - 1, row.size(), names.size());
    rows_charge.more(bytes_of(row));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw format_error("'{}' has no rows", io::shown(label));
  std::vector<CsvColumn> out;
  for (size_t i = 0; i < names.size(); ++i) out.push_back(column_of(names[i], rows, i));
  return out;
}

std::vector<CsvColumn> read_csv(const std::string& path, bool header, char separator) {
  return parse_csv(io::read_text(path, uint64_t{1} << 34), header, separator, path);
}

}  // namespace rille::data
