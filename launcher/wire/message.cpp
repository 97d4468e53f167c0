// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/message.hpp"

#include <fmt/format.h>

#include <cmath>

#include "launcher/frames/fields.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/wire/gpu_fields.hpp"
#include "launcher/wire/lease_fields.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/network_fields.hpp"
#include "launcher/wire/rank_commands.hpp"
#include "launcher/wire/usage_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t deepest_nesting = 16;

constexpr int highest_signal = 64;
constexpr std::size_t longest_file_name = 64;
constexpr std::int64_t longest_grace_ms = 7LL * 24 * 3600 * 1000;
constexpr int most_slots_of_host = 65'536;
constexpr std::int64_t longest_gpu_wait_ms = 36'000'000'000;  // the largest retry x delay_s
// A file system can be frozen for weeks.
constexpr std::int64_t longest_block_ms = 366LL * 24 * 3600 * 1000;

json of_json(AttemptId of) { return {of.trial, of.attempt}; }
AttemptId of_json(const json& value) {
  if (!value.is_array() || value.size() != 2) throw Malformed{"an attempt that cannot be"};
  for (const json& part : value)
    if (!part.is_number_unsigned() || part > INT32_MAX)
      throw Malformed{"an attempt that cannot be"};
  return {value[0].get<int>(), value[1].get<int>()};
}

// A short list, since there can be many.
json json_of_position(const message::OutputPosition& at) {
  return {at.of.trial, at.of.attempt, at.rank, at.position, at.is_of_metrics ? 1 : 0};
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

// The file is written into the run directory only.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= longest_file_name && name.front() != '.' &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

template <class M>
concept AboutAttempt = requires(M m) {
  { m.of } -> std::convertible_to<AttemptId>;
};

}  // namespace

// `sha256` becomes a file name, so it is checked.
void fields(auto& f, Described<Context> auto& context) {
  f.text("sha256", context.sha256);
  f.number("size", context.size);
  f.check([&] { return is_well_formed(context); }, "a context that cannot be");
}

void fields(auto& f, Described<RunFile> auto& file) {
  f.text("name", file.name);
  f.text("text", file.text);
  f.check([&] { return is_plain_name(file.name); }, "a file with a path for a name");
}

void fields(auto& f, Described<CpuBindingRule> auto& rule) {
  f.number_of("mode", rule.mode, CpuBinding::exclusive);
  f.flag("has_whole_host", rule.has_whole_host);
  f.number("slots", rule.slots, 0, most_slots_of_host);
  f.list_as(
      "slots_of_ranks", rule.slots_of_ranks, most_slots_of_host,
      [](const std::vector<int>& slots) {
        return json{{"slots", slots}};
      },
      [](const json& rank) {
        return int_list_field(rank, "slots", 0, most_slots_of_host - 1, most_slots_of_host);
      });
}

void fields(auto& f, Described<GpuWait> auto& wait) {
  constexpr std::int64_t millionths = 1'000'000;
  f.duration("limit_ms", wait.limit, 0, longest_gpu_wait_ms);
  f.value_as(
      "most_used_ppm", wait.most_used,
      [](double share) { return std::llround(share * millionths); },
      [](const json& value) {
        if (!value.is_number_unsigned() || value > millionths) throw Malformed{"no share"};
        return value.get<double>() / millionths;
      });
  f.flag("for_all", wait.is_for_all);
}

void fields(auto& f, Described<RankState> auto& state) {
  f.number("rank", state.rank);
  f.number("pid", state.pid);
  f.text("command", state.command, longest_state_name);
  f.text("state", state.state, 1);
  f.text("waits_in", state.waits_in, longest_state_name);
  f.number("threads", state.threads);
  f.optional_text("kernel_stack", state.kernel_stack, longest_kernel_stack);
  f.optional_text("python", state.python, longest_python_stack);
}

namespace message {

// A launcher of another version may send only the version; it learns ours from Hello.
void fields(auto& f, Described<Attach> auto& m) {
  f.number("version", m.version);
  if (f.reads && m.version != wire_version) return;
  f.number("epoch", m.epoch, 1);
  f.number("connection", m.connection, 1);
  f.list_as("positions", m.positions, no_limit, json_of_position, position_of);
  f.number("credit", m.credit);
  f.text("launcher", m.launcher, longest_name);
}

void fields(auto& f, Described<NoAgent> auto& m) { f.text("boot_id", m.boot_id, longest_name); }

void fields(auto& f, Described<Prepare> auto& m) {
  f.text("task", m.task_id);
  f.value_as("ranks", m.ranks, json_of_ranks, ranks_of_json);
  f.number("hold_ports", m.hold_ports, 0, most_held_ports);
  f.list("files", m.files);
  f.number("stop_signal", m.stop_signal, 1, highest_signal);
  f.duration("stop_notice_ms", m.stop_notice, 0, longest_grace_ms);
  f.duration("stop_grace_ms", m.stop_grace, 0, longest_grace_ms);
  f.duration("reconnect_window_ms", m.reconnect_window, 0, longest_grace_ms);
  f.duration("launcher_wait_ms", m.launcher_wait, 0, for_ever.count());
  f.flag_for("pack_output", m.output_packing, OutputPacking::lz4, OutputPacking::none);
  f.object("context", m.context);
  f.optional_text("interface", m.interface);
  f.flag("wants_networks", m.wants_networks);
  f.flag("looks_for_checkpoints", m.looks_for_checkpoints);
  f.number("spool", m.spool.limit);
  f.flag("spool_drops", m.spool.drops);
  f.text("checkpoint_directory", m.checkpoint_directory, longest_path);
  f.optional("leases", !m.leases.wants.empty(), [&] { f.object("leases", m.leases); });
  f.optional("cpu_binding", m.cpu_binding.mode != CpuBinding::none,
             [&] { f.object("cpu_binding", m.cpu_binding); });
  f.object("gpu_wait", m.gpu_wait);
}

void fields(auto&, Described<TakeLeases> auto&) {}
void fields(auto&, Described<DropLeases> auto&) {}

// Of each holder a few leases.
void fields(auto& f, Described<Leases> auto& m) {
  f.list_as(
      "in_the_way", m.blockers, most_holders,
      [](LeaseHolder holder) {
        if (holder.leases.size() > most_told_leases) holder.leases.resize(most_told_leases);
        return json_of_fields(holder);
      },
      [](const json& value) {
        LeaseHolder holder = struct_of_json<LeaseHolder>(value);
        if (holder.leases.size() > most_told_leases) throw Malformed{"too many leases"};
        return holder;
      });
}

void fields(auto& f, Described<Probe> auto& m) {
  f.list("targets", m.targets, most_probed_hosts);
  f.flag("thorough", m.is_thorough);
}

void fields(auto& f, Described<Probed> auto& m) { f.list("results", m.results, most_probed_hosts); }

void fields(auto& f, Described<NetworkChoice> auto& choice) {
  f.number("rank", choice.first_rank);
  f.text("interface", choice.interface);
  f.flag("best", choice.is_best);
}

void fields(auto& f, Described<Go> auto& m) {
  f.text("address", m.rendezvous_address);
  f.number("port", m.rendezvous_port, 0, highest_port);
  f.text("megascale_address", m.megascale_address);
  f.number("megascale_port", m.megascale_port, 0, highest_port);
  f.texts("workers", m.workers);
  f.choice("slots", m.slots, {SlotMeaning::places, SlotMeaning::cuda, SlotMeaning::rocm},
           "slots of an unknown kind");
  f.list("networks", m.networks);
}

void fields(auto& f, Described<Stop> auto& m) {
  f.duration("grace_ms", m.grace, 0, longest_grace_ms);
  f.duration("notice_ms", m.notice, 0, longest_grace_ms);
}

void fields(auto& f, Described<Acknowledge> auto& m) {
  f.number("chunk", m.chunk);
  f.number("credit", m.credit);
  f.number("synced", m.synced);
}

void fields(auto&, Described<Forget> auto&) {}
void fields(auto&, Described<Bye> auto&) {}

void fields(auto& f, Described<Ping> auto& m) {
  f.instant("sent", m.sent);
  f.instant("newest_pong", m.newest_pong);
}

void fields(auto& f, Described<AttemptStatus> auto& status) {
  f.value_as(
      "of", status.of, [](AttemptId of) { return of_json(of); },
      [](const json& value) { return of_json(value); });
  f.flag("has_started", status.has_started);
  f.choice("stop", status.stop,
           {OwnStop::none, OwnStop::silence, OwnStop::launcher, OwnStop::failure},
           "a stop for no reason");
}

// An agent of another version may send only the version.
void fields(auto& f, Described<Hello> auto& m) {
  f.number("version", m.version);
  if (f.reads && m.version != wire_version) return;
  f.text("host_name", m.host_name, longest_name);
  f.text("boot_id", m.boot_id, longest_name);
  f.number("pid", m.pid);
  f.list("attempts", m.attempts, most_attempts);
  f.numbers("holding", m.holding, 0, INT32_MAX, most_attempts);
}

void fields(auto& f, Described<Ready> auto& m) {
  f.numbers("ports", m.held_ports, 1, highest_port, most_held_ports);
  f.text("run_directory", m.run_directory, longest_path);
  f.object("gpus", m.gpus);
  f.text("checkpoint_mark", m.checkpoint_mark, longest_name);
  f.flag("ends_with_login", m.ends_with_login);
  f.optional("networks", m.networks != HostNetworks{}, [&] { f.object("networks", m.networks); });
}

void fields(auto& f, Described<WantContext> auto& m) { f.number("taken", m.taken); }

void fields(auto& f, Described<Refused> auto& m) {
  f.list("problems", m.problems, most_problems);
  f.flag_for("host_trouble", m.error_class, ErrorClass::host, ErrorClass::missing);
  f.check([&] { return !m.problems.empty(); }, "a refusal without a reason");
}

void fields(auto& f, Described<RankStarted> auto& m) {
  f.number("rank", m.rank);
  f.number("pid", m.pid);
  f.optional("cpus", !m.cpus.empty(), [&] {
    f.numbers("cpus", m.cpus, 0, most_cpus - 1, static_cast<std::size_t>(most_cpus));
  });
  f.flag("shares_cores", m.shares_cores);
}

void fields(auto& f, Described<RankNotStarted> auto& m) {
  f.number("rank", m.rank);
  f.text("reason", m.reason, longest_words);
  f.choice("class", m.error_class, {ErrorClass::missing, ErrorClass::host, ErrorClass::config},
           "an unknown class of trouble");
}

void fields(auto& f, Described<MemoryKill> auto& kill) {
  f.text("limit", kill.limit, longest_words);
  f.text("process", kill.process, longest_words);
}

void fields(auto& f, Described<RankEnded> auto& m) {
  f.number("rank", m.rank);
  f.number("code", m.code, 0, 255);
  f.number("signal", m.signal, 1, 127);
  f.flag("core", m.dumped_core);
  f.flag("after_stop", m.after_stop);
  f.instant("at", m.at);
  f.optional_text("error_file", m.error_file, longest_error_file);
  f.object("memory_kill", m.memory_kill);
  f.optional_text("core_place", m.core, longest_words);
  f.optional("usage", m.usage.has_value(), [&] {
    f.value_as(
        "usage", m.usage,
        [&](const auto& usage) {
          return json_of_usage({m.rank, *usage});
        },
        [](const json& value) { return std::optional(usage_of_json(value).usage); });
  });
  f.optional_text("parent_end", m.parent_end, longest_words);
  f.flag("new_checkpoint", m.has_new_checkpoint);
  f.check([&] { return m.code.has_value() != m.signal.has_value(); },
          "a rank ended with a code or a signal, not both");
}

void fields(auto& f, Described<Usage> auto& m) {
  f.list_as("ranks", m.ranks, most_usages, json_of_usage, usage_of_json);
}

void fields(auto& f, Described<LookAtRanks> auto& m) { f.flag("states", m.wants_states); }

void fields(auto& f, Described<RanksSeen> auto& m) {
  f.flag("has_states", m.has_states);
  f.duration("touched_ms", m.touched, 0, milliseconds(longest_heartbeat_age).count());
  f.list("ranks", m.states, most_rank_states);
}

template <class Fields, class M>
void fields_of_survivors(Fields& f, M& m) {
  f.list("survivors", m.survivors, most_survivors);
  f.number("more_survivors", m.more_survivors);
}
void fields(auto& f, Described<Finished> auto& m) { fields_of_survivors(f, m); }
void fields(auto& f, Described<LeftBehind> auto& m) { fields_of_survivors(f, m); }

void fields(auto& f, Described<Pong> auto& m) {
  f.instant("sent", m.sent);
  f.instant("answered", m.answered);
}

void fields(auto& f, Described<Blocked> auto& m) {
  f.words("what", m.what, longest_trouble);
  f.duration("so_far_ms", m.so_far, 0, longest_block_ms);
  f.flag("gpu_memory", m.is_gpu_memory);
}

void fields(auto& f, Described<PortTaken> auto& m) {
  f.number("port", m.port, 1, highest_port);
  f.number("uid", m.uid, 0, UINT32_MAX);
}

void fields(auto& f, Described<OutputBlocked> auto& m) {
  f.flag("is_blocked", m.is_blocked);
  f.number("kept", m.kept);
}

void fields(auto& f, Described<StopsRanks> auto& m) {
  f.choice("why", m.why, {OwnStop::silence, OwnStop::launcher, OwnStop::failure},
           "a stop for no reason");
  f.instant("at", m.at);
}

void fields(auto& f, Described<NoStopFile> auto& m) {
  f.words("reason", m.reason, longest_trouble);
}

void fields(auto& f, Described<AgentFailed> auto& m) {
  f.words("reason", m.reason, longest_trouble);
}

void fields(auto& f, Described<Displaced> auto& m) {
  f.number("epoch", m.epoch, 1);
  f.text("by", m.by, longest_name);
}

}  // namespace message

namespace {

constexpr std::tuple names{Named<message::Attach>{"attach"},
                           Named<message::NoAgent>{"no_agent"},
                           Named<message::Prepare>{"prepare"},
                           Named<message::Go>{"go"},
                           Named<message::Stop>{"stop"},
                           Named<message::Acknowledge>{"ack"},
                           Named<message::Forget>{"forget"},
                           Named<message::Ping>{"ping"},
                           Named<message::Bye>{"bye"},
                           Named<message::Hello>{"hello"},
                           Named<message::Ready>{"ready"},
                           Named<message::WantContext>{"want_context"},
                           Named<message::TakeLeases>{"take_leases"},
                           Named<message::DropLeases>{"drop_leases"},
                           Named<message::Leases>{"leases"},
                           Named<message::Probe>{"probe"},
                           Named<message::Probed>{"probed"},
                           Named<message::Refused>{"refused"},
                           Named<message::RankStarted>{"started"},
                           Named<message::RankNotStarted>{"not_started"},
                           Named<message::RankEnded>{"ended"},
                           Named<message::Finished>{"finished"},
                           Named<message::LeftBehind>{"left_behind"},
                           Named<message::Pong>{"pong"},
                           Named<message::Blocked>{"blocked"},
                           Named<message::PortTaken>{"port_taken"},
                           Named<message::OutputBlocked>{"output_blocked"},
                           Named<message::Displaced>{"displaced"},
                           Named<message::StopsRanks>{"stops_ranks"},
                           Named<message::NoStopFile>{"no_stop_file"},
                           Named<message::AgentFailed>{"agent_failed"},
                           Named<message::Usage>{"usage"},
                           Named<message::LookAtRanks>{"look_at_ranks"},
                           Named<message::RanksSeen>{"ranks_seen"}};

Message read(std::string_view payload) {
  if (nests_deeper(payload, deepest_nesting)) throw Malformed{"nested too deep"};
  const json value = json::parse(payload, nullptr, false);
  if (value.is_discarded()) throw Malformed{"not JSON"};
  if (!value.is_object()) throw Malformed{"not an object"};
  Message message = variant_of_json<Message>(value, "type", names);
  return attempt_of(message) ? about(std::move(message), of_json(field(value, "of"))) : message;
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
  json value = json_of_variant(message, "type", names);
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
