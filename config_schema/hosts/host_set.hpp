// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace train {

/// The maximum number of hosts in an expanded host set.
inline constexpr std::size_t max_hosts = 65'536;

/// The maximum length of a name, that of DNS (RFC 1035, section 2.3.4: 255 bytes with the lengths
/// of the labels). It bounds the memory of a set.
inline constexpr std::size_t max_host_name = 253;

/// A fault in a host set, and its byte offset.
struct HostSetError {
  std::size_t offset = 0;
  std::string message;
  std::string hint;

  bool operator==(const HostSetError&) const = default;
};
/// The return value for a fault at that byte.
inline tl::unexpected<HostSetError> refuse_at(std::size_t offset, std::string message,
                                              std::string hint = {}) {
  return tl::make_unexpected(HostSetError{offset, std::move(message), std::move(hint)});
}

/// One part of a comma-separated host list, and its byte offset.
struct HostListPart {
  std::string_view text;
  std::size_t offset = 0;
};

/// Splits at commas outside brackets; blanks around parts are removed. `a1,,b2`, a comma at either
/// end and an empty list are errors.
tl::expected<std::vector<HostListPart>, HostSetError> split_host_list(std::string_view list);

/// Expands one part of a host list, without user and slots: ClusterShell's grammar
/// (`node[01-03,20]`, `n[0-8/2]`, `n[1-2]r[0-1]-ib`) with Slurm's adjacent brackets
/// (`n[1-2][3-4]`). The last bracket varies fastest; numbers keep their written order. Leading
/// zeros count: `[001-003]` is three digits wide. At most `limit` names, which are counted before
/// any is made.
tl::expected<std::vector<std::string>, HostSetError> expand_host_pattern(
    std::string_view pattern, std::size_t limit = max_hosts);

/// Expands a whole list such as `node[01-04],gpu-b`.
tl::expected<std::vector<std::string>, HostSetError> expand_host_set(std::string_view list,
                                                                     std::size_t limit = max_hosts);

}  // namespace train
