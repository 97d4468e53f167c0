// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/hosts/host_set.hpp"

namespace train {

/// One item of a host list: `user@node[01-04]:8`.
struct HostItem {
  std::string user;
  std::vector<std::string> names;
  std::optional<int> slots;
};

/// A word of a line, and its byte offset.
struct HostWord {
  std::string_view text;
  std::size_t offset = 0;
};

/// The words of a line, separated by blanks.
std::vector<HostWord> host_words(std::string_view line);

/// Reads `[user@]set[:slots]`, with IPv6 addresses in brackets (`[::1]:8`). At most `limit` names.
/// More than 1,023 slots are refused: they look like a port.
tl::expected<HostItem, HostSetError> read_host_item(std::string_view text, std::size_t limit);

/// Reads a number of slots, 1 to 65,536. `offset` is the position of `text`, for the error.
tl::expected<int, HostSetError> read_slots(std::string_view text, std::size_t offset);

/// Reads a slot type: "auto", "cuda", "rocm", "cpu".
tl::expected<SlotType, HostSetError> read_slot_type(std::string_view text, std::size_t offset);

/// The hosts of a hostfile in DeepSpeed's, Open MPI's or Hydra's form, or plain names; its text
/// must be normalized. Faults go to the diagnostics.
std::vector<Host> read_line_hosts(const SourceText& source, Diagnostics& diagnostics);

}  // namespace train
