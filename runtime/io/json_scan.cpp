#include "io/json_scan.h"

#include <iterator>
#include <nlohmann/json.hpp>

namespace rille::io {
namespace {

/// A position in a text that reports how far the reader has come.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_, ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  size_t* count_;
};

/// nlohmann's names for our events.
struct Adapter {
  using number_integer_t = int64_t;
  using number_unsigned_t = uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  JsonEvents& to;

  bool null() { return to.on_null(), true; }
  bool boolean(bool b) { return to.on_bool(b), true; }
  bool number_integer(int64_t i) { return to.on_int(i), true; }
  bool number_unsigned(uint64_t u) { return to.on_unsigned(u), true; }
  bool number_float(double d, const std::string&) { return to.on_double(d), true; }
  bool string(std::string& s) { return to.on_string(s), true; }
  bool binary(binary_t&) { return false; }
  bool key(std::string& s) { return to.on_key(s), true; }
  bool start_object(size_t) { return to.on_object(true), true; }
  bool end_object() { return to.on_object(false), true; }
  bool start_array(size_t) { return to.on_array(true), true; }
  bool end_array() { return to.on_array(false), true; }
  bool parse_error(size_t, const std::string& last, const nlohmann::detail::exception&) {
    return to.on_error(last), false;
  }
};

}  // namespace

void scan_json(std::string_view text, JsonEvents& events, size_t& position) {
  position = 0;
  // nlohmann skips a byte order mark and takes a NUL for the end; both are foreign to JSON.
  const size_t nul = text.find('\0');
  if (text.starts_with('\xef') || nul != std::string_view::npos) {
    if (nul != std::string_view::npos) position = nul;
    events.on_error(text.substr(position, 1));
    return;
  }
  Adapter adapter{events};
  const CountingIterator first(text.data(), &position);
  nlohmann::json::sax_parse(first, CountingIterator(text.data() + text.size(), &position),
                            &adapter);
}

}  // namespace rille::io
