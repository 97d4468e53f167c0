// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/frames/fields.hpp"
#include "launcher/lease/lease.hpp"
#include "launcher/wire/message.hpp"
#include "launcher/wire/ticket_fields.hpp"

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
/// Limit of the ranges of one lease.
inline constexpr std::size_t most_lease_ranges = 4'096;
/// Limits of the holders that are reported for one host, and of the leases of each.
inline constexpr std::size_t most_holders = 8;
inline constexpr std::size_t most_told_leases = 32;

/// Ranges as JSON: the begin and the end of each, concatenated. The reader throws Malformed.
nlohmann::json json_of_ranges(const std::vector<LeaseRange>& ranges);
std::vector<LeaseRange> ranges_of_json(const nlohmann::json& ends);

void fields(auto& f, Described<LeaseKey> auto& key) {
  using enum LeaseKey::Kind;
  constexpr int most_index = 1 << 20;
  f.choice("kind", key.kind, {place, cuda, rocm, device, slot, cpus, memory, custom},
           "a resource of no known kind");
  f.number("index", key.index, 0, most_index);
  f.optional("name", !key.name.empty(), [&] { f.words("name", key.name, longest_resource_name); });
}

void fields(auto& f, Described<LeaseWant> auto& want) {
  f.object("of", want.key);
  f.number("amount", want.amount, 1);
  f.number("capacity", want.capacity, 1);
  f.check([&] { return want.amount <= want.capacity; }, "more is wanted than there is");
}

void fields(auto& f, Described<LeaseRequest> auto& request) {
  f.list("wants", request.wants, most_leases);
  f.number("slots", request.slots);
  f.words("name", request.task_name, longest_holder_text);
  f.words("launcher", request.launcher, longest_holder_text);
  f.text("directory", request.directory, longest_lease_directory);
  f.flag("allow_busy", request.allow_busy);
  f.object("order", request.order);
}

void fields(auto& f, Described<LeaseHolder::Held> auto& held) {
  f.object("of", held.key);
  f.number("amount", held.amount);
}

void fields(auto& f, Described<LeaseHolder> auto& holder) {
  f.words("task", holder.task, longest_holder_text);
  f.words("name", holder.name, longest_holder_text);
  f.words("launcher", holder.launcher, longest_holder_text);
  f.number("uid", holder.uid, -1);
  f.words("user", holder.user, longest_holder_text);
  f.number("held_ms", holder.held_ms);
  f.flag("running", holder.is_running);
  f.flag("waiting", holder.is_waiting);
  f.number("pid", holder.pid);
  f.words("command", holder.command, longest_holder_text);
  f.cut_list("leases", holder.leases, most_leases);
}

void fields(auto& f, Described<HolderRecord::Held> auto& held) {
  f.object("of", held.key);
  f.value_as("units", held.ranges, json_of_ranges, ranges_of_json);
}

void fields(auto& f, Described<HolderRecord> auto& record) {
  f.words("task", record.task, longest_holder_text);
  f.words("name", record.name, longest_holder_text);
  f.words("launcher", record.launcher, longest_holder_text);
  f.number("since_ms", record.since_ms);
  f.flag("running", record.is_running);
  f.list("leases", record.leases, most_leases);
}

std::string encode_holder(const HolderRecord& record);
/// Class `host` if it is malformed.
Result<HolderRecord> decode_holder(std::string_view text);

}  // namespace train
