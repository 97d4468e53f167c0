// SPDX-License-Identifier: Apache-2.0
// Debian 12 ships fmt's headers and its shared library, but no static one. Compiling it in this one
// file costs the build once what FMT_HEADER_ONLY would cost in every file that includes it.
//
// Without locales, which train does not use ("{:L}") and which take 300 KB: the thousands separator
// is a constant.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// Instantiations that the headers declare and leave to the library.
template FMT_API dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template FMT_API dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template FMT_API thousands_sep_result<char> thousands_sep_impl(locale_ref);
template FMT_API char decimal_point_impl(locale_ref);
template FMT_API void buffer<char>::append(const char*, const char*);
template void vformat_to(buffer<char>&, string_view, format_args, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
