#include "io/nested.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include "core/fail.h"
#include "io/json.h"
#include "io/utf8.h"

// How a value is written as JSON. Nil, booleans, numbers and UTF-8 strings are themselves; integers
// have no point and floats always do. A table with only a list is an array, one with only names an
// object. The rest is an object with one name that starts with '$':
//   {"$t": entry}            a tensor
//   {"$f": "inf"}            inf, -inf, nan
//   {"$b": "00ff"}           bytes that are not UTF-8, in hexadecimal
//   {"$a": [..], "$k": [[name, value], ..]}   list and names, or names that the short form cannot
//   hold
namespace rille::io {
namespace {

constexpr size_t kJsonDepth = 3 * kTreeDepth + 8;  // the long form of a table nests three deep
constexpr size_t kLongestName = 1024;

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes)
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string from_hex(std::string_view text) {
  const auto digit = [&](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw format_error("saved table: '{}' is not hexadecimal", shown(text, 40));
  };
  if (text.size() % 2 != 0)
    throw format_error("saved table: '{}' is not hexadecimal", shown(text, 40));
  std::string out(text.size() / 2, '\0');
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<char>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
  return out;
}

Value wrap(std::string key, Value inner) {
  Table t;
  t.fields.emplace(std::move(key), std::move(inner));
  return t;
}

Value encode_string(const std::string& s) { return is_utf8(s) ? Value(s) : wrap("$b", to_hex(s)); }

/// Chooses names for tensors and turns a value into one that JSON can say.
class Encoder {
 public:
  explicit Encoder(size_t tensors) : names_(tensors) {}

  Value encode(const Value& v, const std::string& path, size_t depth) {
    if (const auto* t = v.get<Table>()) return table(*t, path, depth);
    if (const auto* t = v.get<TensorRef>()) return wrap("$t", name_of(*t, path));
    if (const auto* s = v.get<std::string>()) return encode_string(*s);
    if (const auto* d = v.get<double>(); d && !std::isfinite(*d))
      return wrap("$f", std::isnan(*d) ? "nan" : *d > 0 ? "inf" : "-inf");
    return v;
  }

  std::vector<std::string> take_names() {
    for (size_t i = 0; i < names_.size(); ++i)
      if (names_[i].empty()) throw arg_error("save: tensor {} is in no table", i);
    return std::move(names_);
  }

 private:
  Value table(const Table& t, const std::string& path, size_t depth) {
    if (depth >= kTreeDepth)
      throw arg_error("save: '{}' is nested deeper than {} tables", shown(path), kTreeDepth);
    Table list, pairs, plain;
    for (size_t i = 0; i < t.list.size(); ++i)
      list.list.push_back(encode(t.list[i], join(path, std::to_string(i + 1)), depth + 1));
    const bool fits = t.list.empty() && std::all_of(t.fields.begin(), t.fields.end(), [](auto& f) {
                        return !f.first.starts_with('$') && is_utf8(f.first);
                      });
    for (const auto& [key, value] : t.fields) {
      Value inner = encode(value, join(path, is_utf8(key) ? key : to_hex(key)), depth + 1);
      if (fits) {
        plain.fields.emplace(key, std::move(inner));
      } else {
        Table pair;
        pair.list = {encode_string(key), std::move(inner)};
        pairs.list.emplace_back(std::move(pair));
      }
    }
    if (t.fields.empty() && !t.list.empty()) return list;
    if (fits) return plain;
    Table both;
    both.fields.emplace("$a", std::move(list));
    both.fields.emplace("$k", std::move(pairs));
    return both;
  }

  static std::string join(const std::string& path, const std::string& key) {
    return path.empty() ? key : path + "." + key;
  }

  const std::string& name_of(TensorRef ref, const std::string& path) {
    if (ref.index >= names_.size())
      throw internal_error("tensor {} of {} is named", ref.index, names_.size());
    std::string& name = names_[ref.index];
    if (!name.empty()) return name;
    std::string wanted = path.empty() ? "tensor" : path;
    if (wanted.size() > kLongestName || wanted == "__metadata__")
      wanted = "tensor." + std::to_string(ref.index + 1);
    name = wanted;
    for (int copy = 2; !used_.insert(name).second; ++copy)  // t["a.b"] and t.a.b want the same one
      name = wanted + "#" + std::to_string(copy);
    return name;
  }

  std::vector<std::string> names_;
  std::set<std::string> used_;
};

class Decoder {
 public:
  explicit Decoder(const std::vector<std::string>& names) : seen_(names.size()) {
    for (size_t i = 0; i < names.size(); ++i) index_.emplace(names[i], i);
  }

  Value decode(Value v, size_t depth) {
    Table* t = v.get<Table>();
    if (!t) return v;
    const auto first = t->fields.begin();
    if (first != t->fields.end() && first->first.starts_with('$')) return special(*t, depth);
    check_depth(depth);
    for (Value& item : t->list) item = decode(std::move(item), depth + 1);
    for (auto& [key, item] : t->fields) item = decode(std::move(item), depth + 1);
    return v;
  }

  void check_all_used(const std::vector<std::string>& names) const {
    for (size_t i = 0; i < names.size(); ++i)
      if (!seen_[i]) throw format_error("saved table: tensor '{}' is not in it", shown(names[i]));
  }

 private:
  static void check_depth(size_t depth) {
    if (depth >= kTreeDepth)
      throw format_error("saved table: nested deeper than {} tables", kTreeDepth);
  }

  Value special(Table& t, size_t depth) {
    const auto& [key, inner] = *t.fields.begin();
    const auto* text = inner.get<std::string>();
    if (t.fields.size() == 1 && text) {
      if (key == "$t") return tensor(*text);
      if (key == "$b") return from_hex(*text);
      if (key == "$f") return number(*text);
    }
    if (t.fields.size() == 2 && key == "$a" && t.fields.contains("$k")) return both(t, depth);
    throw format_error("saved table: '{}' is not known", shown(key));
  }

  Value tensor(const std::string& name) {
    const auto it = index_.find(name);
    if (it == index_.end()) throw format_error("saved table: no tensor '{}'", shown(name));
    seen_[it->second] = true;
    return TensorRef{it->second};
  }

  static Value number(const std::string& text) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (text == "inf") return kInf;
    if (text == "-inf") return -kInf;
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    throw format_error("saved table: '{}' is no number", shown(text, 40));
  }

  Value both(Table& t, size_t depth) {
    Table* list = t.fields.find("$a")->second.get<Table>();
    Table* pairs = t.fields.find("$k")->second.get<Table>();
    if (!list || !pairs || !list->fields.empty() || !pairs->fields.empty())
      throw format_error("saved table: '$a' and '$k' must be lists");
    check_depth(depth);
    Table out;
    for (Value& item : list->list) out.list.push_back(decode(std::move(item), depth + 1));
    for (Value& item : pairs->list) {
      Table* pair = item.get<Table>();
      if (!pair || pair->list.size() != 2 || !pair->fields.empty())
        throw format_error("saved table: '$k' must hold pairs");
      const Value key = decode(std::move(pair->list[0]), depth + 1);
      const auto* name = key.get<std::string>();
      if (!name) throw format_error("saved table: {} is used as a name", key.kind());
      if (!out.fields.emplace(*name, decode(std::move(pair->list[1]), depth + 1)).second)
        throw format_error("saved table: '{}' is repeated", shown(*name));
    }
    return out;
  }

  std::unordered_map<std::string_view, size_t> index_;
  std::vector<bool> seen_;
};

/// A table of tensors, each under its own name: what a plain safetensors file is.
bool is_plain(const Value& v, const std::vector<std::string>& names) {
  const auto* t = v.get<Table>();
  if (!t || !t->list.empty() || t->fields.size() != names.size()) return false;
  return std::all_of(t->fields.begin(), t->fields.end(), [&](const auto& field) {
    const auto* ref = field.second.template get<TensorRef>();
    return ref && names[ref->index] == field.first;
  });
}

}  // namespace

FlatTree flatten(const Value& value, size_t tensors) {
  Encoder encoder(tensors);
  const Value encoded = encoder.encode(value, "", 0);
  FlatTree flat;
  flat.names = encoder.take_names();
  if (!is_plain(value, flat.names)) flat.tree = dump_json(encoded);
  return flat;
}

Value unflatten(std::string_view tree, const std::vector<std::string>& names) {
  if (!tree.empty()) {
    Decoder decoder(names);
    Value value = decoder.decode(parse_json(tree, {.depth = kJsonDepth}), 0);
    decoder.check_all_used(names);
    return value;
  }
  Table plain;
  for (size_t i = 0; i < names.size(); ++i) plain.fields.emplace(names[i], TensorRef{i});
  return plain;
}

}  // namespace rille::io
