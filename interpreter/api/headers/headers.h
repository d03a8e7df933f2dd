// Writes ops.hpp and layers.hpp from what the engine says about its ops and layers. Run when
// librille is built; the headers are installed with it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rille/schema.hpp"

namespace rille::headers {

/// "ScaledDotProductAttention"
std::string camel(std::string_view snake);

/// Text as comment lines, at most 100 columns wide, the first behind `first`.
std::string comment(std::string_view first, std::string_view text, int indent = 0);

/// How a field is given: by position, or in the options.
bool positional(const std::vector<FieldSchema>& fields, size_t i);
bool has_options(const std::vector<FieldSchema>& fields);

/// "const Tensor& x"
std::string parameter(const FieldSchema& f);
/// "double eps = 1e-05;"
std::string member(const FieldSchema& f);
/// "const Tensor& x, double p, const NormOptions& o = {}"; `options` is the struct's name.
std::string parameters(const std::vector<FieldSchema>& fields, std::string_view options);
/// ".put(x).put(p).put(o.eps)"
std::string puts(const std::vector<FieldSchema>& fields);
/// The struct of what has a default, with extra lines of members; nothing where there is none.
std::string options_struct(std::string_view name, const std::vector<FieldSchema>& fields,
                           std::string_view extra = {});

std::string ops_header();
std::string layers_header();

}  // namespace rille::headers
