// Drives a handler with the events of a JSON text, and counts the bytes, so that whoever rejects an
// event can say where. The reader is nlohmann's, which no other file of ours includes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rille::io {

/// What a handler implements. Strings arrive by reference and may be moved from; throwing ends it.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void on_null() = 0;
  virtual void on_bool(bool b) = 0;
  virtual void on_int(int64_t i) = 0;
  virtual void on_unsigned(uint64_t u) = 0;
  virtual void on_double(double d) = 0;
  virtual void on_string(std::string& s) = 0;
  virtual void on_key(std::string& s) = 0;
  virtual void on_object(bool begins) = 0;
  virtual void on_array(bool begins) = 0;
  /// The text is not JSON; `near` is the piece that could not be read. Must throw.
  virtual void on_error(std::string_view near) = 0;
};

/// `position` holds the number of bytes read so far while events arrive.
void scan_json(std::string_view text, JsonEvents& events, size_t& position);

}  // namespace rille::io
