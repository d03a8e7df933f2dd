// Any text as JSON and as a saved table: what is read can be written and reads back the same.
#include <cstdlib>

#include "core/error.h"
#include "io/json.h"
#include "io/nested.h"

using namespace rille::io;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Value value = parse_json(text);
    if (!(parse_json(dump_json(value)) == value)) std::abort();
    const Value tree = unflatten(text, {});
    const FlatTree flat = flatten(tree, 0);
    const Value again = unflatten(flat.tree, flat.names);
    if (!(again == tree) && flat.tree.find("nan") == std::string::npos) std::abort();
  } catch (const rille::Error& e) {
    if (e.code() != "E_FORMAT") std::abort();
  }
  return 0;
}
