// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/message.hpp"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <nlohmann/json.hpp>

#include "launcher/frames/frame.hpp"
#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/gpu_fields.hpp"
#include "launcher/wire/lease_fields.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/network_fields.hpp"
#include "launcher/wire/rank_commands.hpp"
#include "launcher/wire/trouble_messages.hpp"
#include "launcher/wire/usage_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t deepest_nesting = 16;

constexpr int highest_port = 65'535;
constexpr int highest_signal = 64;
constexpr std::size_t longest_file_name = 64;
constexpr std::int64_t longest_grace_ms = 7LL * 24 * 3600 * 1000;
constexpr int most_slots_of_host = 65'536;
constexpr std::int64_t longest_gpu_wait_ms = 36'000'000'000;  // the largest retry x delay_s
constexpr std::int64_t millionths = 1'000'000;

// The file is written into the run directory only.
RunFile run_file(const json& value) {
  RunFile file{text_field(value, "name"), text_field(value, "text")};
  const bool is_plain = !file.name.empty() && file.name.size() <= longest_file_name &&
                        file.name.front() != '.' &&
                        file.name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  if (!is_plain) throw Malformed{"a file with a path for a name"};
  return file;
}

std::uint64_t count_field(const json& value, const char* name) {
  return static_cast<std::uint64_t>(number_field(value, name));
}

json of_json(AttemptId of) { return {of.trial, of.attempt}; }
AttemptId of_field(const json& value) {
  const std::vector<int> of = int_list_field(value, "of", 0, INT32_MAX, 2);
  if (of.size() != 2) throw Malformed{"an attempt that cannot be"};
  return {of[0], of[1]};
}

template <class M>
concept AboutAttempt = requires(M m) {
  { m.of } -> std::convertible_to<AttemptId>;
};

// One pair of functions per message: writes its JSON, and reads it back.

// `sha256` becomes a file name, so it is checked.
Context context_of(const json& value) {
  Context context{text_field(value, "sha256"), count_field(value, "size")};
  if (!is_well_formed(context)) throw Malformed{"a context that cannot be"};
  return context;
}

json body(const message::Attach& m) {
  json positions = json::array();
  for (const message::OutputPosition& at : m.positions)
    positions.push_back(
        {at.of.trial, at.of.attempt, at.rank, at.position, at.is_of_metrics ? 1 : 0});
  return {{"type", "attach"},
          {"version", m.version},
          {"epoch", m.epoch},
          {"connection", m.connection},
          {"positions", std::move(positions)},
          {"credit", m.credit},
          {"launcher", from_bytes(m.launcher)}};
}
message::OutputPosition position_of(const json& value) {
  const Malformed impossible{"a position that cannot be"};
  if (!value.is_array() || value.size() != 5) throw impossible;
  for (const json& part : value)
    if (!part.is_number_unsigned()) throw impossible;
  for (const int small : {0, 1, 2})
    if (value[small] > INT32_MAX) throw impossible;
  if (value[4] > 1) throw impossible;
  return {value[2].get<int>(),
          value[3].get<std::uint64_t>(),
          {value[0].get<int>(), value[1].get<int>()},
          value[4] == 1};
}
// A launcher of another version may send only the version; it learns ours from Hello.
Message read_attach(const json& value) {
  message::Attach m;
  m.version = int_field(value, "version");
  if (m.version != wire_version) return m;
  m.epoch = static_cast<std::uint64_t>(number_field(value, "epoch", 1));
  m.connection = static_cast<std::uint64_t>(number_field(value, "connection", 1));
  for (const auto& position : array_field(value, "positions"))
    m.positions.push_back(position_of(position));
  m.credit = count_field(value, "credit");
  m.launcher = text_field(value, "launcher", longest_name);
  return m;
}

json body(const message::NoAgent& m) {
  return {{"type", "no_agent"}, {"boot_id", from_bytes(m.boot_id)}};
}
Message read_no_agent(const json& value) {
  return message::NoAgent{text_field(value, "boot_id", longest_name)};
}

json body(const message::Prepare& m) {
  json files = json::array();
  for (const auto& file : m.files)
    files.push_back({{"name", from_bytes(file.name)}, {"text", from_bytes(file.text)}});
  json value{{"type", "prepare"},
             {"task", from_bytes(m.task_id)},
             {"ranks", json_of_ranks(m.ranks)},
             {"hold_ports", m.hold_ports},
             {"files", std::move(files)},
             {"stop_signal", m.stop_signal},
             {"stop_notice_ms", m.stop_notice.count()},
             {"stop_grace_ms", m.stop_grace.count()},
             {"reconnect_window_ms", m.reconnect_window.count()},
             {"launcher_wait_ms", m.launcher_wait.count()},
             {"pack_output", m.output_packing == OutputPacking::lz4},
             {"spool", m.spool.limit},
             {"spool_drops", m.spool.drops},
             {"checkpoint_directory", from_bytes(m.checkpoint_directory)}};
  if (m.context) value["context"] = {{"sha256", m.context->sha256}, {"size", m.context->size}};
  if (!m.interface.empty()) value["interface"] = from_bytes(m.interface);
  if (m.wants_networks) value["wants_networks"] = true;
  if (!m.leases.wants.empty()) value["leases"] = json_of(m.leases);
  if (m.cpu_binding.mode != CpuBinding::none) {
    value["cpu_binding"] = static_cast<int>(m.cpu_binding.mode);
    value["has_whole_host"] = m.cpu_binding.has_whole_host;
    value["slots"] = m.cpu_binding.slots;
    value["slots_of_ranks"] = json::array();
    for (const std::vector<int>& slots : m.cpu_binding.slots_of_ranks)
      value["slots_of_ranks"].push_back({{"slots", slots}});
  }
  value["gpu_wait"] = {{"limit_ms", m.gpu_wait.limit.count()},
                       {"most_used_ppm", std::llround(m.gpu_wait.most_used * millionths)},
                       {"for_all", m.gpu_wait.is_for_all}};
  return value;
}
Message read_prepare(const json& value) {
  message::Prepare m;
  m.task_id = text_field(value, "task");
  m.ranks = ranks_of_json(array_field(value, "ranks"));
  m.hold_ports = int_field(value, "hold_ports", 0, most_held_ports);
  for (const auto& file : array_field(value, "files")) m.files.push_back(run_file(file));
  m.stop_signal = int_field(value, "stop_signal", 1, highest_signal);
  m.stop_notice = milliseconds(number_field(value, "stop_notice_ms", 0, longest_grace_ms));
  m.stop_grace = milliseconds(number_field(value, "stop_grace_ms", 0, longest_grace_ms));
  m.reconnect_window =
      milliseconds(number_field(value, "reconnect_window_ms", 0, longest_grace_ms));
  m.launcher_wait = milliseconds(number_field(value, "launcher_wait_ms", 0, for_ever.count()));
  if (bool_field(value, "pack_output")) m.output_packing = OutputPacking::lz4;
  if (value.contains("context")) m.context = context_of(value["context"]);
  if (value.contains("interface")) m.interface = text_field(value, "interface");
  m.wants_networks = value.contains("wants_networks") && bool_field(value, "wants_networks");
  m.spool = {count_field(value, "spool"), bool_field(value, "spool_drops")};
  m.checkpoint_directory = text_field(value, "checkpoint_directory", longest_path);
  if (value.contains("leases")) m.leases = lease_request_of(value["leases"]);
  if (value.contains("cpu_binding")) {
    constexpr int last = static_cast<int>(CpuBinding::exclusive);
    m.cpu_binding = {static_cast<CpuBinding>(int_field(value, "cpu_binding", 0, last)),
                     bool_field(value, "has_whole_host"),
                     int_field(value, "slots", 0, most_slots_of_host),
                     {}};
    for (const json& rank : array_field(value, "slots_of_ranks", most_slots_of_host))
      m.cpu_binding.slots_of_ranks.push_back(
          int_list_field(rank, "slots", 0, most_slots_of_host - 1, most_slots_of_host));
  }
  const json& wait = field(value, "gpu_wait");
  m.gpu_wait = {
      milliseconds(number_field(wait, "limit_ms", 0, longest_gpu_wait_ms)),
      static_cast<double>(number_field(wait, "most_used_ppm", 0, millionths)) / millionths,
      bool_field(wait, "for_all")};
  return m;
}

json body(const message::Probe& m) {
  return {{"type", "probe"}, {"targets", json_of(m.targets)}, {"thorough", m.is_thorough}};
}
Message read_probe(const json& value) {
  return message::Probe{probe_targets_of_json(value), bool_field(value, "thorough")};
}

json body(const message::Probed& m) {
  return {{"type", "probed"}, {"results", json_of(m.results)}};
}
Message read_probed(const json& value) { return message::Probed{probe_results_of_json(value)}; }

json body(const message::Go& m) {
  json workers = json::array();
  for (const std::string& worker : m.workers) workers.push_back(from_bytes(worker));
  json value{{"type", "go"},
             {"address", from_bytes(m.rendezvous_address)},
             {"port", m.rendezvous_port},
             {"megascale_address", from_bytes(m.megascale_address)},
             {"megascale_port", m.megascale_port},
             {"workers", std::move(workers)}};
  if (m.slots) value["slots"] = to_string(*m.slots);
  for (const message::NetworkChoice& each : m.networks)
    value["networks"].push_back({{"rank", each.first_rank},
                                 {"interface", from_bytes(each.interface)},
                                 {"best", each.is_best}});
  return value;
}
Message read_go(const json& value) {
  message::Go m{text_field(value, "address"), int_field(value, "port", 0, highest_port),
                text_field(value, "megascale_address"),
                int_field(value, "megascale_port", 0, highest_port)};
  for (const auto& worker : array_field(value, "workers")) m.workers.push_back(to_bytes(worker));
  if (value.contains("slots")) {
    m.slots = slot_meaning_of(text_field(value, "slots"));
    if (!m.slots) throw Malformed{"slots of an unknown kind"};
  }
  if (value.contains("networks"))
    for (const json& each : array_field(value, "networks"))
      m.networks.push_back(
          {int_field(each, "rank"), text_field(each, "interface"), bool_field(each, "best")});
  return m;
}

json body(const message::Stop& m) {
  return {{"type", "stop"}, {"grace_ms", m.grace.count()}, {"notice_ms", m.notice.count()}};
}
Message read_stop(const json& value) {
  return message::Stop{milliseconds(number_field(value, "grace_ms", 0, longest_grace_ms)),
                       milliseconds(number_field(value, "notice_ms", 0, longest_grace_ms))};
}

json body(const message::Acknowledge& m) {
  return {{"type", "ack"}, {"chunk", m.chunk}, {"credit", m.credit}, {"synced", m.synced}};
}
Message read_acknowledge(const json& value) {
  return message::Acknowledge{count_field(value, "chunk"), count_field(value, "credit"),
                              count_field(value, "synced")};
}

json body(const message::Forget&) { return {{"type", "forget"}}; }
Message read_forget(const json&) { return message::Forget{}; }

json body(const message::Ping& m) {
  return {{"type", "ping"}, {"sent", m.sent.count()}, {"newest_pong", m.newest_pong.count()}};
}
Message read_ping(const json& value) {
  return message::Ping{instant_field(value, "sent"), instant_field(value, "newest_pong")};
}

json body(const message::Bye&) { return {{"type", "bye"}}; }
Message read_bye(const json&) { return message::Bye{}; }

json body(const message::Hello& m) {
  json attempts = json::array();
  for (const message::AttemptStatus& status : m.attempts)
    attempts.push_back({{"of", of_json(status.of)},
                        {"has_started", status.has_started},
                        {"stop", message::to_string(status.stop)}});
  return {{"type", "hello"},
          {"version", m.version},
          {"host_name", from_bytes(m.host_name)},
          {"boot_id", from_bytes(m.boot_id)},
          {"pid", m.pid},
          {"attempts", std::move(attempts)},
          {"holding", m.holding}};
}
// An agent of another version may send only the version.
Message read_hello(const json& value) {
  message::Hello m;
  m.version = int_field(value, "version");
  if (m.version != wire_version) return m;
  m.host_name = text_field(value, "host_name", longest_name);
  m.boot_id = text_field(value, "boot_id", longest_name);
  m.pid = number_field(value, "pid");
  for (const auto& status : array_field(value, "attempts", most_attempts)) {
    using enum message::OwnStop;
    m.attempts.push_back(
        {of_field(status), bool_field(status, "has_started"),
         enum_field(status, "stop", {none, silence, launcher, failure}, "a stop for no reason")});
  }
  m.holding = int_list_field(value, "holding", 0, INT32_MAX, most_attempts);
  return m;
}

json body(const message::Ready& m) {
  json value{{"type", "ready"},
             {"run_directory", from_bytes(m.run_directory)},
             {"ports", m.held_ports},
             {"gpus", json_of_gpus(m.gpus)},
             {"checkpoint_mark", from_bytes(m.checkpoint_mark)},
             {"ends_with_login", m.ends_with_login}};
  if (m.networks != HostNetworks{}) value["networks"] = json_of(m.networks);
  return value;
}
Message read_ready(const json& value) {
  message::Ready m{
      int_list_field(value, "ports", 1, highest_port, most_held_ports),
      text_field(value, "run_directory", longest_path), gpus_of_json(field(value, "gpus")),
      text_field(value, "checkpoint_mark", longest_name), bool_field(value, "ends_with_login")};
  if (value.contains("networks")) m.networks = networks_of_json(value["networks"]);
  return m;
}

json body(const message::WantContext& m) { return {{"type", "want_context"}, {"taken", m.taken}}; }
Message read_want_context(const json& value) {
  return message::WantContext{count_field(value, "taken")};
}

json body(const message::Refused& m) {
  json problems = json::array();
  for (const auto& problem : m.problems)
    problems.push_back(
        {{"message", from_bytes(problem.message)}, {"hint", from_bytes(problem.hint)}});
  return {{"type", "refused"},
          {"problems", std::move(problems)},
          {"host_trouble", m.error_class == ErrorClass::host}};
}
Message read_refused(const json& value) {
  message::Refused m;
  for (const auto& problem : array_field(value, "problems", most_problems))
    m.problems.push_back({{},
                          {},
                          text_field(problem, "message", longest_words),
                          text_field(problem, "hint", longest_words)});
  if (m.problems.empty()) throw Malformed{"a refusal without a reason"};
  if (bool_field(value, "host_trouble")) m.error_class = ErrorClass::host;
  return m;
}

json body(const message::RankStarted& m) {
  json value{{"type", "started"}, {"rank", m.rank}, {"pid", m.pid}};
  if (!m.cpus.empty()) value["cpus"] = m.cpus;
  if (m.shares_cores) value["shares_cores"] = true;
  return value;
}
Message read_rank_started(const json& value) {
  message::RankStarted m{int_field(value, "rank"), number_field(value, "pid")};
  if (value.contains("cpus"))
    m.cpus = int_list_field(value, "cpus", 0, most_cpus - 1, static_cast<std::size_t>(most_cpus));
  m.shares_cores = value.contains("shares_cores") && bool_field(value, "shares_cores");
  return m;
}

json body(const message::RankNotStarted& m) {
  return {{"type", "not_started"},
          {"rank", m.rank},
          {"reason", from_bytes(m.reason)},
          {"class", to_string(m.error_class)}};
}
Message read_rank_not_started(const json& value) {
  message::RankNotStarted m{int_field(value, "rank"), text_field(value, "reason", longest_words)};
  m.error_class =
      enum_field(value, "class", {ErrorClass::missing, ErrorClass::host, ErrorClass::config},
                 "an unknown class of trouble");
  return m;
}

json body(const message::RankEnded& m) {
  json value{{"type", "ended"},
             {"rank", m.rank},
             {"core", m.dumped_core},
             {"after_stop", m.after_stop},
             {"at", m.at.count()}};
  if (m.code) value["code"] = *m.code;
  if (m.signal) value["signal"] = *m.signal;
  if (!m.error_file.empty()) value["error_file"] = from_bytes(m.error_file);
  if (m.memory_kill)
    value["memory_kill"] = {{"limit", from_bytes(m.memory_kill->limit)},
                            {"process", from_bytes(m.memory_kill->process)}};
  if (!m.core.empty()) value["core_place"] = from_bytes(m.core);
  if (m.usage) value["usage"] = json_of(UsageOfRank{m.rank, *m.usage});
  if (!m.parent_end.empty()) value["parent_end"] = from_bytes(m.parent_end);
  return value;
}
Message read_rank_ended(const json& value) {
  message::RankEnded m;
  m.rank = int_field(value, "rank");
  m.code = optional_int_field(value, "code", 0, 255);
  m.signal = optional_int_field(value, "signal", 1, 127);
  if (m.code.has_value() == m.signal.has_value())
    throw Malformed{"a rank ended with a code or a signal, not both"};
  m.dumped_core = bool_field(value, "core");
  m.after_stop = bool_field(value, "after_stop");
  m.at = instant_field(value, "at");
  if (value.contains("error_file"))
    m.error_file = text_field(value, "error_file", longest_error_file);
  if (value.contains("memory_kill")) {
    const json& kill = value["memory_kill"];
    if (!kill.is_object()) throw Malformed{"'memory_kill' is no object"};
    m.memory_kill = {text_field(kill, "limit", longest_words),
                     text_field(kill, "process", longest_words)};
  }
  if (value.contains("core_place")) m.core = text_field(value, "core_place", longest_words);
  if (value.contains("usage")) m.usage = usage_of_rank(value["usage"]).usage;
  if (value.contains("parent_end")) m.parent_end = text_field(value, "parent_end", longest_words);
  return m;
}

json body(const message::Usage& m) { return {{"type", "usage"}, {"ranks", json_of(m.ranks)}}; }
Message read_usage(const json& value) {
  return message::Usage{usages_field(value, "ranks", most_usages)};
}

template <class M>
json body_with_survivors(const char* type, const M& m) {
  json survivors = json::array();
  for (const auto& survivor : m.survivors)
    survivors.push_back(
        {{"pid", survivor.pid}, {"uid", survivor.uid}, {"command", from_bytes(survivor.command)}});
  return {
      {"type", type}, {"survivors", std::move(survivors)}, {"more_survivors", m.more_survivors}};
}
template <class M>
Message read_survivors(const json& value) {
  M m;
  for (const auto& survivor : array_field(value, "survivors", most_survivors))
    m.survivors.push_back({number_field(survivor, "pid"), number_field(survivor, "uid"),
                           text_field(survivor, "command", longest_command)});
  m.more_survivors = int_field(value, "more_survivors");
  return m;
}

json body(const message::Finished& m) { return body_with_survivors("finished", m); }
json body(const message::LeftBehind& m) { return body_with_survivors("left_behind", m); }

json body(const message::OutputBlocked& m) {
  return {{"type", "output_blocked"}, {"is_blocked", m.is_blocked}, {"kept", m.kept}};
}
Message read_output_blocked(const json& value) {
  return message::OutputBlocked{bool_field(value, "is_blocked"), count_field(value, "kept")};
}

json body(const message::StopsRanks& m) {
  return {{"type", "stops_ranks"}, {"why", message::to_string(m.why)}, {"at", m.at.count()}};
}
Message read_stops_ranks(const json& value) {
  using enum message::OwnStop;
  return message::StopsRanks{
      enum_field(value, "why", {silence, launcher, failure}, "a stop for no reason"),
      instant_field(value, "at")};
}

json body(const message::Displaced& m) {
  return {{"type", "displaced"}, {"epoch", m.epoch}, {"by", from_bytes(m.by)}};
}
Message read_displaced(const json& value) {
  return message::Displaced{static_cast<std::uint64_t>(number_field(value, "epoch", 1)),
                            text_field(value, "by", longest_name)};
}

json body(const message::Pong& m) {
  return {{"type", "pong"}, {"sent", m.sent.count()}, {"answered", m.answered.count()}};
}
Message read_pong(const json& value) {
  return message::Pong{instant_field(value, "sent"), instant_field(value, "answered")};
}

struct Reader {
  const char* type;
  Message (*read)(const json&);
};

constexpr Reader readers[] = {
    {"attach", read_attach},
    {"no_agent", read_no_agent},
    {"prepare", read_prepare},
    {"go", read_go},
    {"stop", read_stop},
    {"ack", read_acknowledge},
    {"forget", read_forget},
    {"ping", read_ping},
    {"bye", read_bye},
    {"hello", read_hello},
    {"ready", read_ready},
    {"want_context", read_want_context},
    {"take_leases", read_take_leases},
    {"drop_leases", read_drop_leases},
    {"leases", read_leases},
    {"probe", read_probe},
    {"probed", read_probed},
    {"refused", read_refused},
    {"started", read_rank_started},
    {"not_started", read_rank_not_started},
    {"ended", read_rank_ended},
    {"finished", read_survivors<message::Finished>},
    {"left_behind", read_survivors<message::LeftBehind>},
    {"pong", read_pong},
    {"blocked", read_blocked},
    {"port_taken", read_port_taken},
    {"output_blocked", read_output_blocked},
    {"displaced", read_displaced},
    {"stops_ranks", read_stops_ranks},
    {"no_stop_file", read_no_stop_file},
    {"agent_failed", read_agent_failed},
    {"usage", read_usage},
};

Message read(std::string_view payload) {
  if (nests_deeper(payload, deepest_nesting)) throw Malformed{"nested too deep"};
  const json value = json::parse(payload, nullptr, false);
  if (value.is_discarded()) throw Malformed{"not JSON"};
  if (!value.is_object()) throw Malformed{"not an object"};
  const std::string type = text_field(value, "type");
  for (const Reader& reader : readers) {
    if (type != reader.type) continue;
    Message message = reader.read(value);
    return attempt_of(message) ? about(std::move(message), of_field(value)) : message;
  }
  throw Malformed{"unknown type"};
}

tl::unexpected<Error> malformed(const std::string& what) {
  return tl::make_unexpected(not_our_protocol("sent a malformed message: " + what));
}

}  // namespace

const char* message::to_string(OwnStop stop) {
  switch (stop) {
    case OwnStop::silence:
      return "silence";
    case OwnStop::launcher:
      return "launcher";
    case OwnStop::failure:
      return "failure";
    case OwnStop::none:
      break;
  }
  return "none";
}

std::optional<AttemptId> attempt_of(const Message& message) {
  return std::visit(
      []<class M>(const M& m) -> std::optional<AttemptId> {
        if constexpr (AboutAttempt<M>) return m.of;
        return std::nullopt;
      },
      message);
}

Message about(Message message, AttemptId of) {
  std::visit(
      [of]<class M>(M& m) {
        if constexpr (AboutAttempt<M>) m.of = of;
      },
      message);
  return message;
}

std::string encode_message(const Message& message) {
  json value = std::visit([](const auto& m) { return body(m); }, message);
  if (const auto of = attempt_of(message)) value["of"] = of_json(*of);
  return value.dump();
}

Result<Message> decode_message(std::string_view payload) {
  try {
    return read(payload);
  } catch (const Malformed& error) {
    return malformed(error.what);
  } catch (const json::exception& error) {
    return malformed(error.what());
  }
}

std::string frame_of(const Message& message) {
  return encode_frame(FrameKind::control, encode_message(message));
}

}  // namespace train
