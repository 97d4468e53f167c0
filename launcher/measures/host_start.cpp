// SPDX-License-Identifier: Apache-2.0
#include "launcher/measures/host_start.hpp"

#include "launcher/frames/fields.hpp"

namespace train {

namespace {

constexpr std::size_t most_hosts = 100'000;
constexpr std::size_t longest_start = 64u << 20;  // bytes
constexpr std::array<const char*, start_steps> names{"connected",    "logged_in", "agent_runs",
                                                     "has_context",  "is_ready",  "told_to_start",
                                                     "ranks_started"};

}  // namespace

void fields(auto& f, Described<HostStart> auto& start) {
  f.text("host", start.host);
  for (std::size_t i = 0; i < start_steps; ++i) f.number(names[i], start.at[i]);
}

void fields(auto& f, Described<AttemptStart> auto& start) {
  f.number("attempt", start.attempt);
  f.number("begun_ms", start.begun);
  f.list("hosts", start.hosts, most_hosts);
}

std::string encode_start(const AttemptStart& start) { return line_of_fields(start); }

Result<AttemptStart> decode_start(std::string_view line) {
  return decode_fields<AttemptStart>(line, longest_start, "the start of an attempt is unreadable");
}

}  // namespace train
