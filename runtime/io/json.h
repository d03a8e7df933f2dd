// JSON text <-> Value. Reading is strict (RFC 8259, no repeated names, depth and size limited, no
// recursion); writing gives the shortest digits that read back as the same double, whatever the
// locale. Used for the metadata of saved tables and by the scripts' json module.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "io/value.h"

namespace rille::io {

struct JsonLimits {
  size_t depth = 64;
  size_t bytes = size_t{1} << 28;
};

/// E_FORMAT names the byte where the text stops being JSON. null becomes nil; integers beyond 64
/// bits become floats, as Lua reads them.
Value parse_json(std::string_view text, const JsonLimits& limits = {});

struct JsonStyle {
  int indent = 0;              // spaces a level; 0 puts all on one line
  bool empty_is_list = false;  // an empty table as [] instead of {}
};

/// E_ARG for what JSON cannot say: inf and nan, tensors, strings that are not UTF-8, and tables
/// that have both a list and names.
std::string dump_json(const Value& value, const JsonStyle& style = {});

/// Appends the text in quotes, escaped. It must be UTF-8.
void append_json_string(std::string& out, std::string_view text);
/// Appends a finite double so that it reads back as the same double: always with a point or
/// exponent.
void append_json_double(std::string& out, double value);

}  // namespace rille::io
