#include "io/json.h"

#include <charconv>
#include <cmath>

#include "core/fail.h"
#include "io/json_scan.h"
#include "io/utf8.h"

namespace rille::io {
namespace {

class Builder final : public JsonEvents {
 public:
  explicit Builder(size_t depth) : depth_(depth) {}

  Value root;
  size_t position = 0;

  void on_null() override { put({}); }
  void on_bool(bool b) override { put(b); }
  void on_int(int64_t i) override { put(i); }
  void on_double(double d) override {
    if (!std::isfinite(d)) throw format_error("json: byte {}: number out of range", position);
    put(d);
  }
  void on_string(std::string& s) override { put(std::move(s)); }
  void on_key(std::string& s) override { key_ = std::move(s); }
  void on_object(bool begins) override { begins ? enter(true) : open_.pop_back(); }
  void on_array(bool begins) override { begins ? enter(false) : open_.pop_back(); }
  void on_unsigned(uint64_t u) override {
    const bool fits = u <= static_cast<uint64_t>(INT64_MAX);
    fits ? put(static_cast<int64_t>(u)) : put(static_cast<double>(u));
  }
  void on_error(std::string_view near) override {
    throw format_error("json: byte {}: not JSON near '{}'", position, shown(near, 40));
  }

 private:
  struct Open {
    Table* table;
    bool object;
  };

  Value* put(Value value) {
    if (open_.empty()) return &(root = std::move(value));
    Table& t = *open_.back().table;
    if (!open_.back().object) return &t.list.emplace_back(std::move(value));
    const auto [it, fresh] = t.fields.try_emplace(std::move(key_), std::move(value));
    if (!fresh) throw format_error("json: byte {}: '{}' is repeated", position, shown(it->first));
    return &it->second;
  }

  void enter(bool object) {
    if (open_.size() >= depth_)
      throw format_error("json: byte {}: nested deeper than {}", position, depth_);
    open_.push_back({put(Table())->get<Table>(), object});
  }

  size_t depth_;
  std::vector<Open> open_;  // a table is not moved while it is open: nothing joins its parent then
  std::string key_;
};

class Writer {
 public:
  Writer(std::string& out, const JsonStyle& style) : out_(out), style_(style) {}

  void value(const Value& v, size_t depth) {
    std::visit([&](const auto& x) { write(x, depth); }, v.data);
  }

 private:
  void write(std::monostate, size_t) { out_ += "null"; }
  void write(bool b, size_t) { out_ += b ? "true" : "false"; }
  void write(int64_t i, size_t) { out_ += std::to_string(i); }
  void write(const TensorRef&, size_t) { throw arg_error("json: a tensor cannot be written"); }
  void write(double d, size_t) {
    if (!std::isfinite(d)) throw arg_error("json: {} cannot be written", d);
    append_json_double(out_, d);
  }
  void write(const std::string& s, size_t) {
    const size_t bad = first_invalid_utf8(s);
    if (bad != std::string::npos)
      throw arg_error("json: '{}' is not UTF-8 at byte {}", shown(s, 40), bad);
    append_json_string(out_, s);
  }

  void write(const Table& t, size_t depth) {
    constexpr size_t kDeepest = 1000;  // the writer recurses; Lua's own tables may form a cycle
    if (depth >= kDeepest) throw arg_error("json: nested deeper than {}", kDeepest);
    if (!t.list.empty() && !t.fields.empty())
      throw arg_error("json: a table has both a list and names, such as '{}'",
                      shown(t.fields.begin()->first));
    if (t.list.empty() && t.fields.empty()) {
      out_ += style_.empty_is_list ? "[]" : "{}";
      return;
    }
    const bool list = t.fields.empty();
    bool first = true;
    out_ += list ? '[' : '{';
    for (const Value& v : t.list) item(first, depth + 1), value(v, depth + 1);
    for (const auto& [key, v] : t.fields) {
      item(first, depth + 1);
      write(key, depth);
      out_ += style_.indent > 0 ? ": " : ":";
      value(v, depth + 1);
    }
    line(depth);
    out_ += list ? ']' : '}';
  }

  void item(bool& first, size_t depth) {
    if (!std::exchange(first, false)) out_ += ',';
    line(depth);
  }
  void line(size_t depth) {
    if (style_.indent <= 0) return;
    out_ += '\n';
    out_.append(depth * static_cast<size_t>(style_.indent), ' ');
  }

  std::string& out_;
  JsonStyle style_;
};

}  // namespace

Value parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    throw format_error("json: {} bytes, more than the {} that are read", text.size(), limits.bytes);
  Builder builder(limits.depth);
  scan_json(text, builder, builder.position);
  return std::move(builder.root);
}

std::string dump_json(const Value& value, const JsonStyle& style) {
  std::string out;
  Writer(out, style).value(value, 0);
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        else
          out += c;
    }
  }
  out += '"';
}

void append_json_double(std::string& out, double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  const std::string_view digits(text, static_cast<size_t>(end - text));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

}  // namespace rille::io
