// SPDX-License-Identifier: Apache-2.0
#include "launcher/control/control_talk.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/usage_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t most_hosts = 1u << 16;
constexpr std::size_t most_ranks = 1u << 17;
constexpr std::size_t longest_word = 1'000;
constexpr int highest_signal = 64;

// `read` throws Malformed for invalid input.
template <class Value, class Read>
Result<Value> decode(std::string_view line, std::size_t longest, Read read) {
  return decode_document<Value>(line, longest, "this is no talk of train's", std::move(read));
}

// Names and reasons may contain any bytes.
std::string line_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json json_of(const control_request::Stop& stop) {
  return {{"do", "stop"}, {"signal", stop.signal}};
}
json json_of(const control_request::Status&) { return {{"do", "status"}}; }

json json_of(const control_request::Lend& lend) {
  return {{"do", "lend"},
          {"agent_socket", from_bytes(lend.agent_socket)},
          {"kerberos_cache", from_bytes(lend.kerberos_cache)}};
}

json json_of(const control_request::KillTrial& kill) {
  return {{"do", "kill_trial"}, {"trial", kill.trial}};
}

json json_of(const ControlStatus& status) {
  json hosts = json::array();
  for (const auto& host : status.hosts)
    hosts.push_back({{"name", host.name}, {"state", host.state}});
  return {{"attempt", status.attempt},
          {"max_restarts", status.max_restarts},
          {"phase", status.phase},
          {"ranks_left", status.ranks_left},
          {"hosts", std::move(hosts)}};
}

std::string credential_field(const json& value, const char* name) {
  std::string text = text_field(value, name, longest_word);
  if (text.find('\0') != text.npos) throw Malformed{"what it lends is no name"};
  return text;
}

// Supervisors of earlier versions lack this field.
std::vector<std::string> hosts_field(const json& value, const char* name) {
  std::vector<std::string> hosts;
  if (!value.contains(name)) return hosts;
  for (const json& host : array_field(value, name, most_hosts)) {
    if (!host.is_string() || host.get_ref<const std::string&>().size() > longest_word)
      throw Malformed{"a host has no name"};
    hosts.push_back(host.get<std::string>());
  }
  return hosts;
}

ControlRequest request_of(const json& value) {
  const std::string wanted = text_field(value, "do", longest_word);
  if (wanted == "status") return control_request::Status{};
  if (wanted == "lend")
    return control_request::Lend{credential_field(value, "agent_socket"),
                                 credential_field(value, "kerberos_cache")};
  if (wanted == "kill_trial")
    return control_request::KillTrial{int_field(value, "trial", 0, highest_trial)};
  if (wanted != "stop") throw Malformed{"nothing is known by the name that it asks for"};
  return control_request::Stop{int_field(value, "signal", 1, highest_signal)};
}

ControlStatus status_of(const json& value) {
  ControlStatus status;
  status.attempt = int_field(value, "attempt");
  status.max_restarts = int_field(value, "max_restarts");
  status.phase = text_field(value, "phase", longest_word);
  status.ranks_left = int_field(value, "ranks_left");
  for (const json& host : array_field(value, "hosts", most_hosts))
    status.hosts.push_back(
        {text_field(host, "name", longest_word), text_field(host, "state", longest_word)});
  // Supervisors of earlier versions lack this field.
  if (value.contains("usage")) status.usage = usages_field(value, "usage", most_ranks);
  return status;
}

}  // namespace

std::string encode_greeting(const ControlGreeting& greeting) {
  return line_of({{"train_control", greeting.version},
                  {"task", greeting.task_id},
                  {"pid", greeting.pid},
                  {"program", greeting.program},
                  {"takes_credentials", greeting.takes_credentials},
                  {"kills_trials", greeting.kills_trials}});
}

std::string encode_control_request(const ControlRequest& request) {
  return line_of(std::visit([](const auto& each) { return json_of(each); }, request));
}

std::string encode_answer(const ControlAnswer& answer) {
  json status = json_of(answer.status);
  status["usage"] = json_of(answer.status.usage);
  return line_of({{"refused", answer.refused},
                  {"status", std::move(status)},
                  {"served", answer.served},
                  {"waiting", answer.waiting},
                  {"trial_state", answer.trial_state}});
}

std::string control_status_json(const ControlStatus& status) { return line_of(json_of(status)); }

Result<ControlGreeting> decode_greeting(std::string_view line) {
  return decode<ControlGreeting>(line, longest_control_request, [](const json& value) {
    ControlGreeting greeting;
    greeting.version = int_field(value, "train_control", 1);
    greeting.task_id = text_field(value, "task", longest_word);
    greeting.pid = number_field(value, "pid");
    greeting.program = text_field(value, "program", longest_word);
    greeting.takes_credentials =
        value.contains("takes_credentials") && bool_field(value, "takes_credentials");
    greeting.kills_trials = value.contains("kills_trials") && bool_field(value, "kills_trials");
    return greeting;
  });
}

Result<ControlRequest> decode_control_request(std::string_view line) {
  return decode<ControlRequest>(line, longest_control_request, request_of);
}

Result<ControlAnswer> decode_answer(std::string_view line) {
  return decode<ControlAnswer>(line, longest_control_answer, [](const json& value) {
    ControlAnswer answer{text_field(value, "refused", longest_word),
                         status_of(field(value, "status")), hosts_field(value, "served"),
                         hosts_field(value, "waiting")};
    if (value.contains("trial_state"))
      answer.trial_state = text_field(value, "trial_state", longest_word);
    return answer;
  });
}

}  // namespace train
