// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/message.hpp"

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "launcher/frames/frame.hpp"
#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/output_chunk.hpp"
#include "launcher/wire/ticket_fields.hpp"
#include "tests/catch.hpp"

using namespace train;
using nlohmann::json;
using namespace std::string_literals;

namespace {

// Of an output chunk.
constexpr std::size_t begin_at = 20;
constexpr std::size_t stream_at = 28;
constexpr std::size_t unpacked_size_at = 29;
constexpr std::size_t time_at = 33;
constexpr std::size_t dropped_at = 41;
constexpr std::size_t header_size = 49;

const std::string not_text = "\xff\xfe\x80 \xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80"s;
const std::string with_nul = "a\0b"s;

RankCommand hostile_command() {
  RankCommand command;
  command.rank = 7;
  command.entrypoint.argv = {"", not_text, with_nul, "I am 6' tall", "$HOME\n\t\"\\", "\xc3\xa9"};
  command.working_directory = "/tmp/" + not_text;
  command.environment = {{"PLAIN", "value", AtLaunch::no, false},
                         {"BYTES", not_text, AtLaunch::no, false},
                         {"SECRET", with_nul, AtLaunch::no, true},
                         {"EMPTY", "", AtLaunch::no, false},
                         {"MASTER_PORT", "", AtLaunch::rendezvous_port, false},
                         {"OMP_NUM_THREADS", "1", AtLaunch::no, false, true}};
  return command;
}

RankCommand shell_command() {
  RankCommand command;
  command.entrypoint.shell = "echo \"$RANK\" " + not_text;
  command.working_directory = "/";
  return command;
}

message::Prepare prepare_with_leases() {
  message::Prepare prepare{"t", {shell_command()}};
  prepare.leases = {{{{LeaseKey::Kind::place, 3, {}}, 2'500, lease_units}},
                    4,
                    "digits",
                    not_text,
                    "/srv/" + not_text,
                    true,
                    TicketOrder{latest_arrival, 7, "abcd2345"}};
  return prepare;
}

message::RankEnded ended_with_usage() {
  message::RankEnded ended{3, 0, std::nullopt, false, false, Instant(1), ""};
  ended.usage = {milliseconds(1'234), {}, std::uint64_t{1} << 60};
  return ended;
}

message::RankEnded ended_with_its_parent() {
  message::RankEnded ended{3, std::nullopt, 9, false, false, Instant(1), ""};
  ended.parent_end = not_text;
  return ended;
}

message::Prepare prepare_bound() {
  message::Prepare prepare{"t", {shell_command()}};
  prepare.cpu_binding = {CpuBinding::exclusive, false, 8, {{0, 1}, {7}}};
  prepare.gpu_wait = {milliseconds(36'000'000'000), 0.375, true};
  return prepare;
}

std::vector<Message> all_messages() {
  constexpr Instant late{std::int64_t{1} << 61};
  return {
      message::Prepare{"abcdefgh", {hostile_command(), shell_command()}, 1, {}, milliseconds(0)},
      message::Prepare{not_text,
                       {},
                       most_held_ports,
                       {{"hparams.json", not_text}, {"data.json", ""}},
                       milliseconds(604'800'000)},
      message::Prepare{"t",
                       {shell_command()},
                       0,
                       {},
                       milliseconds(1),
                       milliseconds(604'800'000),
                       for_ever,
                       OutputPacking::lz4,
                       Context{std::string(64, 'f'), largest_archive},
                       not_text,
                       {INT64_MAX, true},
                       {1, 2}},
      prepare_with_leases(),
      prepare_bound(),
      message::Go{"10.0.0.1", 65'535},
      message::Go{not_text, 0, not_text, 1, {"10.0.0.1:1", not_text}},
      message::Go{"10.0.0.1", 1, {}, 0, {}, SlotMeaning::places},
      message::Go{"10.0.0.1", 1, {}, 0, {}, SlotMeaning::rocm},
      message::Stop{milliseconds(10'000)},
      message::Stop{milliseconds(10'000), milliseconds(604'800'000)},
      message::Attach{},
      message::Attach{wire_version,
                      INT64_MAX,
                      INT64_MAX,
                      {{0, 0}, {INT32_MAX, std::uint64_t{1} << 62, {7, INT32_MAX}}},
                      INT64_MAX,
                      not_text},
      message::Displaced{1, ""},
      message::Displaced{INT64_MAX, not_text},
      message::Acknowledge{},
      message::Acknowledge{INT64_MAX, INT64_MAX, INT64_MAX},
      message::Forget{{3, 4}},
      message::Ping{late},
      message::Ping{late, late},
      message::Bye{},
      message::NoAgent{not_text},
      message::Hello{wire_version, not_text, with_nul, INT64_MAX},
      message::Hello{wire_version,
                     "",
                     "",
                     0,
                     {{{0, 0}, true, message::OwnStop::silence},
                      {{INT32_MAX, INT32_MAX}, true, message::OwnStop::launcher},
                      {{1, 2}, false, message::OwnStop::failure}},
                     {0, 7, INT32_MAX}},
      message::Ready{{}, "/tmp/train-0/x"},
      message::Ready{{1, 65'535}, not_text, {}, not_text, true},
      message::Ready{{},
                     "/",
                     {.cuda = {1'023, 0},
                      .rocm = {3},
                      .split = 1'024,
                      .hidden = 2'048,
                      .obstacle = HostGpus::Obstacle::driver_unknown}},
      message::Ready{.held_ports = {},
                     .run_directory = "/",
                     .networks = {{{"eth0", "10.0.0.3", "10.0.0.0/24", 100'000, true, true},
                                   {not_text, "", "", 0}},
                                  65'535,
                                  "0123456789abcdef"}},
      message::Probe{},
      message::Probe{{{INT32_MAX, {"10.0.0.3", "fd00::1"}, 65'535, "0123456789abcdef"}, {}}, true},
      message::Probed{},
      message::Probed{{{INT32_MAX,
                        {ProbeAnswer::untried, ProbeAnswer::reached, ProbeAnswer::refused,
                         ProbeAnswer::unreachable, ProbeAnswer::no_answer, ProbeAnswer::stalled,
                         ProbeAnswer::stranger}},
                       {}}},
      message::Go{.rendezvous_address = "10.0.0.1",
                  .networks = {{0, not_text, false}, {INT32_MAX, ""}}},
      message::Refused{{{{}, {}, "no '" + not_text + "' here", "install it"}, {{}, {}, "", ""}}},
      message::Refused{{{{}, {}, "disk full", ""}}, ErrorClass::host},
      message::WantContext{0},
      message::WantContext{INT64_MAX},
      message::RankStarted{INT32_MAX, 4'194'304},
      message::RankStarted{1, 2, {}, {0, 3, most_cpus - 1}, true},
      message::RankNotStarted{0, with_nul},
      message::RankNotStarted{0, "no descriptor", ErrorClass::host},
      message::RankNotStarted{0, "too long", ErrorClass::config},
      message::RankEnded{3, 255, std::nullopt, false, true, late, not_text},
      message::RankEnded{3, std::nullopt, 64, true, false, Instant(0), "", {}, {}, not_text},
      message::RankEnded{3,
                         std::nullopt,
                         9,
                         false,
                         false,
                         late,
                         "",
                         {},
                         message::MemoryKill{"the host's memory", not_text}},
      ended_with_usage(),
      ended_with_its_parent(),
      message::LookAtRanks{true},
      message::RanksSeen{},
      message::RanksSeen{false, milliseconds(1), {}},
      message::RanksSeen{
          true, {}, {{3, 4711, "python3", "S", "futex_wait", 12, "a\nb", not_text}, {}}},
      message::Usage{},
      message::Usage{{{INT32_MAX, {milliseconds(std::int64_t{1} << 60), 0, 1}},
                      {0, {milliseconds(0), std::uint64_t{1} << 60, 0}},
                      {2, {milliseconds(0), 1, 2, 8'000, {}}},
                      {3, {milliseconds(0), 1, 2, {}, std::uint64_t{1} << 60}},
                      {1, {}}}},
      message::Finished{{}},
      message::Finished{{{12, 0, not_text}, {13, 1000, ""}}, INT32_MAX},
      message::LeftBehind{},
      message::LeftBehind{{{12, 0, not_text}, {13, 1000, ""}}, INT32_MAX},
      message::Pong{Instant(0), late},
      message::Blocked{"stat of '" + not_text + "'", milliseconds(25'000)},
      message::Blocked{"3.0 of 40.0 GiB of GPU 1 are in use", milliseconds(1), true},
      message::PortTaken{65'535, UINT32_MAX},
      message::OutputBlocked{true, INT64_MAX},
      message::OutputBlocked{},
      message::TakeLeases{},
      message::DropLeases{},
      message::Leases{},
      message::Leases{{{.task = "abcd2345",
                        .name = "digits",
                        .launcher = "process 7 on 'head'",
                        .uid = 1'000,
                        .user = "alice",
                        .held_ms = 720'000,
                        .is_running = true,
                        .leases = {{{LeaseKey::Kind::cuda, 3, "GPU-5a"}, lease_units}}},
                       {.task = {}, .leases = {{{LeaseKey::Kind::cpus, 0, {}}, 1}}},
                       {.task = "wxyz2345", .is_waiting = true},
                       {.task = "", .name = "wxyz2345", .pid = INT32_MAX, .command = not_text}}},
      message::StopsRanks{message::OwnStop::silence, late},
      message::StopsRanks{message::OwnStop::failure},
      message::NoStopFile{not_text},
      message::AgentFailed{not_text},
      about(message::RankStarted{1, 2}, {INT32_MAX, 5}),
  };
}

}  // namespace

TEST_CASE("every message comes back as it was sent, whatever bytes are in it") {
  for (const Message& message : all_messages()) {
    const std::string payload = encode_message(message);
    INFO(payload);
    CHECK(payload.find('\n') == std::string::npos);
    const auto back = decode_message(payload);
    REQUIRE(back);
    CHECK(*back == message);
  }
}

TEST_CASE("the frame of a message is read by the frame decoder") {
  FrameDecoder decoder(FrameSender::launcher);
  decoder.feed(frame_of(message::Bye{}));
  const auto frame = decoder.next();
  REQUIRE((frame && *frame));
  CHECK((*frame)->kind == FrameKind::control);
  CHECK(decode_message((*frame)->payload) == Message(message::Bye{}));
}

TEST_CASE("a message that was cut off anywhere is refused") {
  for (const Message& message : all_messages()) {
    const std::string payload = encode_message(message);
    for (std::size_t length = 0; length < payload.size(); ++length)
      CHECK_FALSE(decode_message(std::string_view(payload).substr(0, length)));
  }
}

TEST_CASE("what is no message is refused as the host's fault") {
  const auto payload =
      GENERATE(as<std::string>{},  //
               "", "null", "[]", "{}", "\"bye\"", "{\"type\":1}", "{\"type\":\"bye\"} trailing",
               "{\"type\":\"unheard of\"}", "{\"type\":\"by\xff\"}");
  INFO(payload);
  const auto message = decode_message(payload);
  REQUIRE_FALSE(message);
  CHECK(message.error().error_class == ErrorClass::host);
}

TEST_CASE("every field of a message must be there, but for those that may be missing") {
  const std::set<std::string> may_be_missing = {
      "context",    "interface",   "slots",      "code",       "signal",
      "error_file", "memory_kill", "core_place", "usage",      "parent_end",
      "networks",   "cpu_binding", "cpus",       "touched_ms", "new_checkpoint"};
  for (const Message& message : all_messages()) {
    const json whole = json::parse(encode_message(message));
    for (const auto& [name, value] : whole.items()) {
      const bool are_of_prepare =
          name == "leases" && std::holds_alternative<message::Prepare>(message);
      if (may_be_missing.contains(name) || are_of_prepare) continue;
      json part = whole;
      part.erase(name);
      INFO(part.dump());
      CHECK_FALSE(decode_message(part.dump()));
    }
  }
}

TEST_CASE("a message with one malformed field is refused as the host's fault") {
  struct Fault {
    Message good;
    std::string change;  ///< what the malformed field is, as a merge patch
  };
  const message::Hello hello{wire_version, "a", "b", 1, {{}}};
  message::Prepare prepare;
  prepare.task_id = "t";
  message::RankEnded ended;
  ended.code = 0;
  const std::string too_long = '"' + std::string(longest_name + 1, 'x') + '"';
  const std::string longer_trouble = '"' + std::string(longest_trouble + 1, 'x') + '"';
  const Fault faults[] = {
      {hello, R"({"attempts":{}})"},
      {prepare, R"({"stop_signal":0})"},
      {prepare, R"({"stop_signal":65})"},
      {prepare, R"({"stop_notice_ms":-1})"},
      {hello, R"({"attempts":[1]})"},
      {hello, R"({"attempts":[{"of":[0,0],"has_started":true}]})"},
      {hello, R"({"attempts":[{"of":[0,0],"has_started":1,"stop":"none"}]})"},
      {hello, R"({"attempts":[{"of":[0,0],"has_started":true,"stop":""}]})"},
      {hello, R"({"attempts":[{"of":[0,0],"has_started":true,"stop":7}]})"},
      {hello, R"({"attempts":[{"of":[0,0],"has_started":true,"stop":"boredom"}]})"},
      {hello, R"({"attempts":[{"of":[0],"has_started":true,"stop":"none"}]})"},
      {hello, R"({"attempts":[{"of":[0,-1],"has_started":true,"stop":"none"}]})"},
      {hello, R"({"version":"9"})"},
      {hello, R"({"host_name":)" + too_long + "}"},
      {message::Attach{}, R"({"positions":{}})"},
      {message::Attach{}, R"({"positions":[1]})"},
      {message::Attach{}, R"({"positions":[[0,0,1]]})"},
      {message::Attach{}, R"({"positions":[[0,0,1,2,3]]})"},
      {message::Attach{}, R"({"positions":[[-1,0,1,2]]})"},
      {message::Attach{}, R"({"positions":[[0,-1,1,2]]})"},
      {message::Attach{}, R"({"positions":[[0,0,-1,2]]})"},
      {message::Attach{}, R"({"positions":[[2147483648,0,1,2]]})"},
      {message::Attach{}, R"({"positions":[[0,0,2147483648,2]]})"},
      {message::Attach{}, R"({"positions":[[0,0,1,-2]]})"},
      {message::Attach{}, R"({"positions":[[0,0,1,"2"]]})"},
      {message::Attach{}, R"({"positions":[[0,0,1,1.5]]})"},
      {message::Attach{}, R"({"epoch":0})"},
      {message::Attach{}, R"({"connection":0})"},
      {message::Attach{}, R"({"credit":-1})"},
      {message::Stop{}, R"({"grace_ms":"1"})"},
      {message::Stop{}, R"({"grace_ms":1.5})"},
      {message::Stop{}, R"({"grace_ms":true})"},
      {message::Stop{}, R"({"grace_ms":-1})"},
      {message::Stop{}, R"({"grace_ms":604800001})"},
      {message::Stop{}, R"({"grace_ms":18446744073709551615})"},
      {message::Stop{}, R"({"notice_ms":"1"})"},
      {message::Stop{}, R"({"notice_ms":-1})"},
      {message::Stop{}, R"({"notice_ms":604800001})"},
      {message::Stop{}, R"({"of":7})"},
      {message::Stop{}, R"({"of":[]})"},
      {message::Stop{}, R"({"of":[0]})"},
      {message::Stop{}, R"({"of":[0,0,0]})"},
      {message::Stop{}, R"({"of":[0,-1]})"},
      {message::Stop{}, R"({"of":[2147483648,0]})"},
      {message::Stop{}, R"({"of":["0",0]})"},
      {message::Go{}, R"({"address":["a"]})"},
      {message::Go{}, R"({"port":65536})"},
      {message::Go{}, R"({"megascale_port":65536})"},
      {message::Go{}, R"({"slots":"some"})"},
      {message::Go{}, R"({"address":{"hex":"0"}})"},
      {message::Go{}, R"({"address":{"hex":"zz"}})"},
      {message::Go{}, R"({"address":{"hex":7}})"},
      {message::Go{}, R"({"address":[]})"},
      {prepare, R"({"ranks":[7]})"},
      {prepare, R"({"hold_ports":true})"},
      {prepare, R"({"hold_ports":65536})"},
      {prepare, R"({"hold_ports":-1})"},
      {prepare, R"({"reconnect_window_ms":-1})"},
      {prepare, R"({"reconnect_window_ms":604800001})"},
      {prepare, R"({"launcher_wait_ms":-1})"},
      {prepare, R"({"launcher_wait_ms":3153600000001})"},
      {prepare, R"({"pack_output":1})"},
      {prepare, R"({"spool":-1})"},
      {prepare, R"({"spool_drops":0})"},
      {message::Acknowledge{}, R"({"chunk":-1})"},
      {message::Acknowledge{}, R"({"credit":-1})"},
      {message::Acknowledge{}, R"({"credit":1.5})"},
      {message::Acknowledge{}, R"({"synced":-1})"},
      {message::Ping{}, R"({"sent":2305843009213693953})"},
      {message::Ping{}, R"({"newest_pong":-1})"},
      {message::Ping{}, R"({"newest_pong":2305843009213693953})"},
      {message::NoAgent{}, R"({"boot_id":7})"},
      {message::NoAgent{}, R"({"boot_id":)" + too_long + "}"},
      {message::Ready{}, R"({"ports":1})"},
      {message::Ready{}, R"({"ports":["1"]})"},
      {message::Ready{}, R"({"ports":[0]})"},
      {message::Ready{}, R"({"ports":[1,65536]})"},
      {message::Ready{}, R"({"ends_with_login":"no"})"},
      {message::Refused{{{{}, {}, "x", ""}}}, R"({"problems":["x"]})"},
      {message::Refused{{{{}, {}, "x", ""}}}, R"({"problems":[]})"},
      {message::Refused{{{{}, {}, "x", ""}}}, R"({"host_trouble":0})"},
      {message::WantContext{}, R"({"taken":-1})"},
      {message::RankStarted{}, R"({"rank":-1})"},
      {message::RankStarted{}, R"({"rank":2147483648})"},
      {message::RankStarted{}, R"({"cpus":[-1]})"},
      {message::RankStarted{}, R"({"cpus":[8192]})"},
      {message::RankStarted{}, R"({"cpus":"0-3"})"},
      {message::RankStarted{}, R"({"shares_cores":1})"},
      {prepare_bound(), R"({"cpu_binding":{"mode":5}})"},
      {prepare_bound(), R"({"cpu_binding":{"has_whole_host":null}})"},
      {prepare_bound(), R"({"cpu_binding":{"slots":65537}})"},
      {prepare_bound(), R"({"cpu_binding":{"slots_of_ranks":[{"slots":[-1]}]}})"},
      {prepare_bound(), R"({"gpu_wait":null})"},
      {prepare_bound(), R"({"gpu_wait":{"limit_ms":-1}})"},
      {prepare_bound(), R"({"gpu_wait":{"most_used_ppm":1000001}})"},
      {prepare_bound(), R"({"gpu_wait":{"for_all":1}})"},
      {message::RankNotStarted{}, R"({"class":"worker"})"},
      {ended, R"({"parent_end":7})"},
      {message::LeftBehind{}, R"({"survivors":{}})"},
      {message::LeftBehind{}, R"({"survivors":[{"pid":1}]})"},
      {message::LeftBehind{}, R"({"more_survivors":-1})"},
      {ended, R"({"usage":7})"},
      {ended, R"({"usage":[0,1,2]})"},
      {ended, R"({"usage":[0,1,2,3,4]})"},
      {ended, R"({"usage":[0,-1,2,3]})"},
      {ended, R"({"usage":[0,1,2,1152921504606846977]})"},
      {ended, R"({"usage":[0,1,2,18446744073709551615]})"},
      {ended, R"({"usage":[0,1.5,2,3]})"},
      {ended, R"({"usage":[0,null,2,3]})"},
      {message::RanksSeen{}, R"({"touched_ms":-1})"},
      {message::RanksSeen{}, R"({"touched_ms":"1"})"},
      {message::RanksSeen{}, R"({"ranks":[{"rank":0}]})"},
      {message::RanksSeen{}, R"({"ranks":{}})"},
      {message::LookAtRanks{}, R"({"states":1})"},
      {message::Usage{}, R"({"ranks":{}})"},
      {message::Usage{}, R"({"ranks":[7]})"},
      {message::Usage{}, R"({"ranks":[[2147483648,1,2,3]]})"},
      {message::Usage{}, R"({"ranks":[[-1,1,2,3]]})"},
      {message::Usage{}, R"({"ranks":[[0,1,"2",3]]})"},
      {message::Usage{}, R"({"ranks":[[0,1,2,3,4]]})"},
      {message::Usage{}, R"({"ranks":[[0,1,2,3,-1,5]]})"},
      {message::Usage{}, R"({"ranks":[[0,1,2,3,4,1152921504606846977]]})"},
      {message::Usage{}, R"({"ranks":[[0,1,2,3,"4",5]]})"},
      {message::Usage{}, R"({"ranks":[[0,1,2,3,4,5,6]]})"},
      {message::Finished{}, R"({"survivors":{}})"},
      {message::Finished{}, R"({"survivors":[1]})"},
      {message::Blocked{}, R"({"so_far_ms":-1})"},
      {message::PortTaken{1, 1}, R"({"port":0})"},
      {message::PortTaken{1, 1}, R"({"uid":-1})"},
      {message::PortTaken{1, 1}, R"({"uid":4294967296})"},
      {message::OutputBlocked{}, R"({"is_blocked":"yes"})"},
      {message::OutputBlocked{}, R"({"kept":-1})"},
      {message::StopsRanks{}, R"({"why":"none"})"},
      {message::StopsRanks{}, R"({"at":-1})"},
      {message::NoStopFile{}, R"({"reason":)" + longer_trouble + "}"},
      {message::AgentFailed{}, R"({"reason":)" + longer_trouble + "}"},
      {message::Pong{}, R"({"answered":9223372036854775807})"},
      {ended, R"({"code":null})"},
      {ended, R"({"signal":9})"},
      {ended, R"({"code":256})"},
      {ended, R"({"code":null,"signal":0})"},
  };
  for (const Fault& fault : faults) {
    json document = json::parse(encode_message(fault.good));
    REQUIRE(decode_message(document.dump()));
    document.merge_patch(json::parse(fault.change));
    INFO(document.dump());
    const auto message = decode_message(document.dump());
    CHECK_FALSE(message);
    if (!message) CHECK(message.error().error_class == ErrorClass::host);
  }
  // A number that JSON cannot hold.
  CHECK_FALSE(decode_message(R"({"type":"stop","of":[0,0],"grace_ms":1e400})"));
}

TEST_CASE("commands that could not be executed are refused") {
  const auto with_command = [](const std::string& command) {
    json document = json::parse(encode_message(message::Prepare()));
    document["ranks"] = json::array({json::parse(command)});
    return decode_message(document.dump());
  };
  CHECK(with_command(R"({"rank":0,"working_directory":"/","environment":[],"argv":["a"]})"));
  for (const char* command :
       {R"({"rank":0,"working_directory":"/","environment":[],"argv":[]})",
        R"({"rank":0,"working_directory":"/","environment":[],"shell":""})",
        R"({"rank":0,"working_directory":"/","environment":[]})",
        R"({"rank":0,"working_directory":"/","argv":["a"]})",
        R"({"rank":0,"working_directory":"/","argv":["a"],"environment":[{"name":"A"}]})",
        R"({"rank":0,"working_directory":"/","argv":["a"],"environment":[{"value":"A"}]})",
        R"({"rank":0,"working_directory":"/","argv":["a"],)"
        R"("environment":[{"name":"A","at_launch":"weather"}]})",
        R"({"rank":0,"working_directory":"/","argv":["a"],)"
        R"("environment":[{"name":"A","value":"v","secret":1}]})"}) {
    INFO(command);
    CHECK_FALSE(with_command(command));
  }
}

TEST_CASE("a file of the run directory has a plain name") {
  const auto with_file = [](const std::string& name) {
    json document = json::parse(encode_message(message::Prepare()));
    document["files"] = json::parse(R"([{"name":)" + name + R"(,"text":"{}"}])");
    return decode_message(document.dump());
  };
  CHECK(with_file(R"("data.json")"));
  for (const char* name : {R"("")", R"("..")", R"(".profile")", R"("a/b")", R"("/etc/passwd")",
                           R"({"hex":"610062"})", "7"})
    CHECK_FALSE(with_file(name));
  CHECK_FALSE(with_file('"' + std::string(65, 'a') + '"'));
}

TEST_CASE("a context has the name of a file that is none of the host's") {
  const auto with_context = [](const std::string& sha256, const std::string& size) {
    json document = json::parse(encode_message(message::Prepare()));
    document["context"] = json::parse(R"({"sha256":")" + sha256 + R"(","size":)" + size + "}");
    return decode_message(document.dump());
  };
  const std::string good(64, '0');
  CHECK(with_context(good, "1024"));
  for (const std::string& bad : {std::string(), good + "0", good.substr(1), "../" + good.substr(3),
                                 good.substr(1) + "F", good.substr(1) + "/"})
    CHECK_FALSE(with_context(bad, "1024"));
  for (const char* bad : {"-1", "\"1\"", "null", "536870913"}) CHECK_FALSE(with_context(good, bad));
}

TEST_CASE("of another version nothing is read but its number") {
  const int other = wire_version + 1;
  const json hello{{"type", "hello"}, {"version", other}, {"host_name", 7}};
  REQUIRE(decode_message(hello.dump()));
  CHECK(std::get<message::Hello>(*decode_message(hello.dump())).version == other);
  const json attach{{"type", "attach"}, {"version", other}, {"positions", 7}};
  REQUIRE(decode_message(attach.dump()));
  CHECK(std::get<message::Attach>(*decode_message(attach.dump())).version == other);
}

TEST_CASE("a message says which attempt it is about, if it is about one") {
  const AttemptId third{1, 2};
  CHECK(attempt_of(message::Stop{}) == AttemptId{});
  CHECK(attempt_of(about(message::Stop{milliseconds(7)}, third)) == third);
  CHECK(about(message::Stop{milliseconds(7)}, third) ==
        Message(message::Stop{milliseconds(7), milliseconds(0), third}));
  for (const Message& whole : {Message(message::Ping{}), Message(message::Bye{}),
                               Message(message::WantContext{5}), Message(message::Hello{})}) {
    CHECK_FALSE(attempt_of(whole));
    CHECK(about(whole, third) == whole);
  }
}

TEST_CASE("a host cannot keep more attempts than an agent does") {
  const auto hello = [](std::size_t attempts) {
    message::Hello m;
    m.attempts.resize(attempts);
    return decode_message(encode_message(m));
  };
  CHECK(hello(most_attempts));
  CHECK_FALSE(hello(most_attempts + 1));
}

TEST_CASE("a host cannot send more ports than it may be asked for") {
  const auto ready = [](const std::string& ports) {
    json document = json::parse(encode_message(message::Ready{{}, "/"}));
    document["ports"] = json::parse("[" + ports + "]");
    return decode_message(document.dump());
  };
  std::string ports = "1";
  for (int i = 1; i < most_held_ports; ++i) ports += ",1";
  CHECK(ready(ports));
  CHECK_FALSE(ready(ports + ",1"));
  CHECK_FALSE(ready("0"));
  CHECK_FALSE(ready("65536"));
}

TEST_CASE("a host cannot say that it has GPUs that no host has") {
  const auto ready = [](const std::string& gpus) {
    json document = json::parse(encode_message(message::Ready{{}, "/"}));
    document["gpus"] = json::parse(gpus);
    return decode_message(document.dump());
  };
  const auto of_cuda = [&](const std::string& devices) {
    return ready(R"({"cuda":[)" + devices + R"(],"rocm":[],"split":0,"hidden":0,"obstacle":0})");
  };
  CHECK(of_cuda("0,1023"));
  for (const char* bad : {"1024", "-1", "1,1", "\"1\"", "1.5", "null"}) {
    CAPTURE(bad);
    CHECK_FALSE(of_cuda(bad));
  }
  CHECK_FALSE(ready("{}"));
  CHECK_FALSE(ready("[]"));
  CHECK_FALSE(ready(R"({"cuda":[],"rocm":[],"split":0,"hidden":0,"obstacle":4})"));
  CHECK_FALSE(ready(R"({"cuda":[],"rocm":[],"split":1025,"hidden":0,"obstacle":0})"));
}

TEST_CASE("hostile nesting is refused without becoming a tree") {
  for (const int depth : {17, 1'000'000}) {
    const std::string open(static_cast<std::size_t>(depth), '[');
    CHECK_FALSE(decode_message(open));
    CHECK_FALSE(
        decode_message(R"({"type":"bye","x":)" + open + std::string(open.size(), ']') + "}"));
  }
  CHECK(decode_message(R"({"type":"bye","x":"[[[[[[[[[[[[[[[[[[[[\"[[["})"));
}

TEST_CASE("output comes back byte for byte") {
  for (const std::string& bytes :
       {""s, "line\n"s, not_text + with_nul, std::string(max_chunk_bytes, '\xff')}) {
    const OutputChunk chunk{UINT64_MAX,
                            INT32_MAX,
                            OutputStream::err,
                            bytes,
                            Instant((std::int64_t{1} << 62) - 1),
                            (std::uint64_t{1} << 62) - 1,
                            {INT32_MAX, 3}};
    for (const OutputPacking packing : {OutputPacking::none, OutputPacking::lz4}) {
      const auto back = decode_output(encode_output(chunk, packing));
      REQUIRE(back);
      CHECK(*back == chunk);
    }
  }
}

TEST_CASE("a gap says how much was dropped") {
  OutputChunk gap{7, 3, OutputStream::err, "", Instant(5), 100, {1, 2}};
  gap.dropped = (std::uint64_t{1} << 62) - 1;
  CHECK(length_of(gap) == gap.dropped);
  for (const OutputPacking packing : {OutputPacking::none, OutputPacking::lz4})
    CHECK(decode_output(encode_output(gap, packing)) == gap);
}

TEST_CASE("output is packed where that makes it shorter") {
  const auto packed_size = [](const std::string& bytes) {
    return encode_output({1, 2, OutputStream::out, bytes}, OutputPacking::lz4).size();
  };
  const auto size = [](const std::string& bytes) {
    return encode_output({1, 2, OutputStream::out, bytes}).size();
  };
  CHECK(packed_size(std::string(max_chunk_bytes, 'x')) < 1'000);
  CHECK(packed_size("a line\n") == size("a line\n"));
  std::mt19937 random(1);
  std::string noise(max_chunk_bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  CHECK(packed_size(noise) == size(noise));
  CHECK(decode_output(encode_output({1, 2, OutputStream::out, noise}, OutputPacking::lz4))->bytes ==
        noise);
}

TEST_CASE("packed output that is none is refused, and never becomes more than a chunk") {
  const OutputChunk chunk{1, 2, OutputStream::out, std::string(max_chunk_bytes, 'x')};
  const std::string payload = encode_output(chunk, OutputPacking::lz4);
  const auto with_size = [&](std::uint32_t size) {
    std::string changed = payload.substr(0, unpacked_size_at);
    for (int shift = 24; shift >= 0; shift -= 8) changed += static_cast<char>(size >> shift);
    return changed + payload.substr(unpacked_size_at + 4);
  };
  CHECK(decode_output(with_size(max_chunk_bytes)));
  for (const std::uint32_t size : {1u, 65'535u, 65'537u, 0x7fffffffu, 0xffffffffu})
    CHECK_FALSE(decode_output(with_size(size)));
  for (std::size_t length = header_size; length < payload.size(); ++length)
    CHECK_FALSE(decode_output(payload.substr(0, length)));
  CHECK_FALSE(decode_output(payload + "x"));
}

TEST_CASE("malformed output is refused") {
  const OutputChunk good{1, 2, OutputStream::out, "x"};
  const std::string payload = encode_output(good);
  const auto with = [&](std::size_t at, char byte) {
    std::string changed = payload;
    changed[at] = byte;
    return changed;
  };
  CHECK(decode_output(payload));
  for (std::size_t length = 0; length < header_size; ++length)
    CHECK_FALSE(decode_output(payload.substr(0, length)));
  CHECK_FALSE(decode_output(with(7, '\0')));    // number 0
  for (const std::size_t number : {8, 12, 16})  // a negative trial, attempt or rank
    CHECK_FALSE(decode_output(with(number, '\x80')));
  for (const std::size_t number : {begin_at, time_at, dropped_at}) {  // what would overflow
    CHECK_FALSE(decode_output(with(number, '\x40')));
    CHECK_FALSE(decode_output(with(number, '\xff')));
  }
  CHECK_FALSE(decode_output(with(stream_at, '\0')));  // a stream that there is not
  CHECK_FALSE(decode_output(with(stream_at, '\4')));
  CHECK_FALSE(decode_output(with(dropped_at + 7, '\1')));  // bytes that are there and dropped
  CHECK_FALSE(decode_output(payload + std::string(max_chunk_bytes, 'x')));
}

TEST_CASE("what an agent says of its troubles is cut to what a launcher takes") {
  const std::string longer(longest_trouble + 1, 'x');
  const std::string cut = cut_to_json(longer, longest_trouble);
  CHECK(decode_message(encode_message(message::AgentFailed{longer})) ==
        Message(message::AgentFailed{cut}));
  CHECK(decode_message(encode_message(message::Blocked{longer, milliseconds(1)})) ==
        Message(message::Blocked{cut, milliseconds(1)}));
}
