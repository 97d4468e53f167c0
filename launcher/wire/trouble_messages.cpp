// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/trouble_messages.hpp"

#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr int highest_port = 65'535;
// A file system can be frozen for weeks.
constexpr std::int64_t longest_wait_ms = 366LL * 24 * 3600 * 1000;

json cut(std::string_view text) { return from_bytes(text.substr(0, longest_trouble)); }

}  // namespace

json body(const message::Blocked& m) {
  return {{"type", "blocked"},
          {"what", cut(m.what)},
          {"so_far_ms", m.so_far.count()},
          {"gpu_memory", m.is_gpu_memory}};
}
Message read_blocked(const json& value) {
  return message::Blocked{text_field(value, "what", longest_trouble),
                          milliseconds(number_field(value, "so_far_ms", 0, longest_wait_ms)),
                          bool_field(value, "gpu_memory")};
}

json body(const message::PortTaken& m) {
  return {{"type", "port_taken"}, {"port", m.port}, {"uid", m.uid}};
}
Message read_port_taken(const json& value) {
  return message::PortTaken{int_field(value, "port", 1, highest_port),
                            number_field(value, "uid", 0, UINT32_MAX)};
}

json body(const message::NoStopFile& m) {
  return {{"type", "no_stop_file"}, {"reason", cut(m.reason)}};
}
Message read_no_stop_file(const json& value) {
  return message::NoStopFile{text_field(value, "reason", longest_trouble)};
}

json body(const message::AgentFailed& m) {
  return {{"type", "agent_failed"}, {"reason", cut(m.reason)}};
}
Message read_agent_failed(const json& value) {
  return message::AgentFailed{text_field(value, "reason", longest_trouble)};
}

}  // namespace train
