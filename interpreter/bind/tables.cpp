// Data sets that are files of numbers: CSV and flat files of token ids.
#include "core/fail.h"
#include "data/csv.h"
#include "interpreter/bind/bind.h"
#include "io/file.h"

namespace rille::bind {
namespace {

Value to_script(const data::CsvColumn& column) {
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
    Table list;
    for (const std::string& s : *texts) list.list.emplace_back(s);
    return list;
  }
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&column.values)) {
    const Tensor t = Tensor::empty(Shape{static_cast<int64_t>(integers->size())}, DType::i64);
    std::copy(integers->begin(), integers->end(), t.data_as<int64_t>());
    return t;
  }
  const auto& numbers = std::get<std::vector<double>>(column.values);
  const Tensor t = Tensor::empty(Shape{static_cast<int64_t>(numbers.size())}, DType::f32);
  std::transform(numbers.begin(), numbers.end(), t.data_as<float>(),
                 [](double x) { return static_cast<float>(x); });
  return t;
}

// native.csv(path, header, separator) -> table of columns
void csv(Call& c) {
  try {
    const std::string path = c.string(1, "path");
    const bool header = c.boolean(2, "header");
    Table out;
    for (const data::CsvColumn& column : data::read_csv(path, header, c.string(3, "separator")[0]))
      out.named.emplace(column.name, to_script(column));
    c.give(out);
  } catch (Error& e) {
    if (e.op().empty()) e.op("data.csv");
    throw;
  }
}

template <class From, class To>
Tensor read_ids(const io::InputFile& file, DType dtype) {
  if (file.size() % sizeof(From) != 0)
    throw format_error("'{}' has {} bytes, which is no whole number of ids of {} bytes",
                       file.path(), file.size(), sizeof(From));
  const size_t count = file.size() / sizeof(From);
  const Tensor t = Tensor::empty(Shape{static_cast<int64_t>(count)}, dtype);
  To* ids = t.data_as<To>();
  constexpr size_t kPiece = size_t{1} << 20;
  std::vector<From> piece(std::min(count, kPiece));
  for (size_t at = 0; at < count; at += piece.size()) {
    const size_t n = std::min(piece.size(), count - at);
    file.read_exact(piece.data(), n * sizeof(From), at * sizeof(From));
    std::copy_n(piece.begin(), n, ids + at);
  }
  return t;
}

// native.tokens(path, dtype) -> 1-d tensor; u16 and u32, which no tensor has, become wider.
void tokens(Call& c) {
  try {
    const std::string path = c.string(1, "path"), dtype = c.string(2, "dtype");
    const io::InputFile file(path);
    if (dtype == "u8")
      c.give(read_ids<uint8_t, uint8_t>(file, DType::u8));
    else if (dtype == "u16")
      c.give(read_ids<uint16_t, int32_t>(file, DType::i32));
    else if (dtype == "i32")
      c.give(read_ids<int32_t, int32_t>(file, DType::i32));
    else if (dtype == "u32")
      c.give(read_ids<uint32_t, int64_t>(file, DType::i64));
    else if (dtype == "i64")
      c.give(read_ids<int64_t, int64_t>(file, DType::i64));
    else
      throw fail(Kind::dtype, "E_DTYPE", "'dtype' is none of token ids: '{}'", dtype)
          .hint("u8 u16 u32 i32 i64");
  } catch (Error& e) {
    if (e.op().empty()) e.op("data.tokens");
    throw;
  }
}

}  // namespace

void bind_tables(Interpreter& in) {
  static constexpr NativeEntry natives[] = {{"csv", csv}, {"tokens", tokens}};
  lua::define_outside(in, "rille.native", natives);
}

}  // namespace rille::bind
