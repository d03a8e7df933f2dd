// The functions of fmt that are no templates, once. The package offers them as a shared library,
// which a host may have in another version, or in its headers, where every file of ours compiled
// them anew: 40 % of a build.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl<char>(locale_ref) -> char;

}  // namespace detail
FMT_END_NAMESPACE
