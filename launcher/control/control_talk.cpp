// SPDX-License-Identifier: Apache-2.0
#include "launcher/control/control_talk.hpp"

#include "launcher/frames/fields.hpp"
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

std::string line_of(const json& value) { return value.dump() + "\n"; }

}  // namespace

void fields(auto& f, Described<ControlGreeting> auto& greeting) {
  f.number("train_control", greeting.version, 1);
  f.text("task", greeting.task_id, longest_word);
  f.number("pid", greeting.pid);
  f.text("program", greeting.program, longest_word);
}

void fields(auto& f, Described<ControlStatus::HostStatus> auto& host) {
  f.text("name", host.name, longest_word);
  f.text("state", host.state, longest_word);
}

void fields(auto& f, Described<ControlStatus> auto& status) {
  f.number("attempt", status.attempt);
  f.number("max_restarts", status.max_restarts);
  f.text("phase", status.phase, longest_word);
  f.number("ranks_left", status.ranks_left);
  f.list("hosts", status.hosts, most_hosts);
  f.list_as("usage", status.usage, most_ranks, json_of_usage, usage_of_json);
}

void fields(auto& f, Described<ControlAnswer> auto& answer) {
  f.text("refused", answer.refused, longest_word);
  f.object("status", answer.status);
  f.texts("served", answer.served, most_hosts, longest_word);
  f.texts("waiting", answer.waiting, most_hosts, longest_word);
  f.text("trial_state", answer.trial_state, longest_word);
}

namespace control_request {

void fields(auto& f, Described<Stop> auto& stop) {
  f.number("signal", stop.signal, 1, highest_signal);
}
void fields(auto&, Described<Status> auto&) {}
void fields(auto& f, Described<Lend> auto& lend) {
  f.text("agent_socket", lend.agent_socket, longest_word);
  f.text("kerberos_cache", lend.kerberos_cache, longest_word);
  for (const std::string* name : {&lend.agent_socket, &lend.kerberos_cache})
    f.check([&] { return name->find('\0') == name->npos; }, "what it lends is no name");
}
void fields(auto& f, Described<KillTrial> auto& kill) {
  f.number("trial", kill.trial, 0, highest_trial);
}

}  // namespace control_request

namespace {

constexpr std::tuple requests{
    Named<control_request::Stop>{"stop"}, Named<control_request::Status>{"status"},
    Named<control_request::Lend>{"lend"}, Named<control_request::KillTrial>{"kill_trial"}};

}  // namespace

std::string encode_greeting(const ControlGreeting& greeting) {
  return line_of(json_of_fields(greeting));
}

std::string encode_control_request(const ControlRequest& request) {
  return line_of(json_of_variant(request, "do", requests));
}

std::string encode_answer(const ControlAnswer& answer) { return line_of(json_of_fields(answer)); }

std::string control_status_json(const ControlStatus& status) {
  json value = json_of_fields(status);
  value.erase("usage");
  return line_of(value);
}

Result<ControlGreeting> decode_greeting(std::string_view line) {
  return decode<ControlGreeting>(line, longest_control_request, struct_of_json<ControlGreeting>);
}

Result<ControlRequest> decode_control_request(std::string_view line) {
  return decode<ControlRequest>(line, longest_control_request, [](const json& value) {
    return variant_of_json<ControlRequest>(value, "do", requests);
  });
}

Result<ControlAnswer> decode_answer(std::string_view line) {
  return decode<ControlAnswer>(line, longest_control_answer, struct_of_json<ControlAnswer>);
}

}  // namespace train
