// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/wire/message.hpp"

namespace train {

/// The contents of a holder file, beside the locks. Any user may have written it.
struct HolderRecord {
  struct Held {
    LeaseKey key;
    std::vector<LeaseRange> ranges;  ///< merged
    bool operator==(const Held&) const = default;
  };
  std::string task;
  std::string name;
  std::string launcher;
  std::int64_t since_ms = 0;  ///< Unix time
  bool is_running = false;
  std::vector<Held> leases;

  bool operator==(const HolderRecord&) const = default;
};

/// Size limit of a holder file in bytes; a longer one is not read.
inline constexpr std::size_t longest_holder_record = std::size_t{1} << 20;
/// Limits of the ranges of one lease, and of the bytes of each text of a holder.
inline constexpr std::size_t most_lease_ranges = 4'096;
inline constexpr std::size_t longest_holder_text = 512;
/// A text of a holder, cut to that limit.
nlohmann::json holder_text(const std::string& text);

/// Limits of the holders that are reported for one host, and of the leases of each.
inline constexpr std::size_t most_holders = 8;
inline constexpr std::size_t most_told_leases = 32;

// Bodies of messages, as in message.cpp.
nlohmann::json json_of(const LeaseRequest& request);
LeaseRequest lease_request_of(const nlohmann::json& value);
nlohmann::json body(const message::TakeLeases& m);
Message read_take_leases(const nlohmann::json& value);
nlohmann::json body(const message::DropLeases& m);
Message read_drop_leases(const nlohmann::json& value);
nlohmann::json body(const message::Leases& m);
Message read_leases(const nlohmann::json& value);
/// With at most `most` of its leases.
nlohmann::json json_of(const LeaseHolder& holder, std::size_t most);
LeaseHolder lease_holder_of(const nlohmann::json& value, std::size_t most);

std::string encode_holder(const HolderRecord& record);
/// Class `host` if it is malformed.
Result<HolderRecord> decode_holder(std::string_view text);

}  // namespace train
