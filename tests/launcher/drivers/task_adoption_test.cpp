// SPDX-License-Identifier: Apache-2.0
// What a driver writes down before it acts, and how it goes on with what another one has left.
#include "launcher/talks/sweep_report.hpp"
#include "tests/launcher/drivers/driver_bench.hpp"
#include "tests/launcher/run/trial_of.hpp"
#include "tests/launcher/task/attempt_ends.hpp"

using namespace train;
using namespace std::chrono_literals;
namespace record = journal_record;

namespace {

// Two hosts with one rank each, and a journal.
struct JournaledHosts {
  explicit JournaledHosts(int max_restarts = 1) {
    plan.trial = trial_of({1, 1});
    plan.experiment.entrypoint.shell = "true";
    plan.experiment.reconnect_window = 60s;
    plan.experiment.max_restarts = max_restarts;
    plan.experiment.restart_delay = 0ms;
  }
  void make(std::optional<TaskDriver::Resumption> resume = {}) {
    TaskDriver::Hooks hooks;
    hooks.on_note = [this](const std::string& text) { notes.push_back(text); };
    hooks.on_stopping = [this](const std::string& why, bool) { stopping.push_back(why); };
    hooks.on_all_started = [this] { ++all_started; };
    hooks.on_over = [this] { ++overs; };
    hooks.on_report = [this](const MetricsReport& report) { reports.push_back(report.json); };
    hooks.on_ignored_lines = [this](std::uint64_t lines) { ignored_lines += lines; };
    hooks.on_match = [this](const LogPolicy&, const PolicyMatch& match) {
      matches.push_back(match.line);
    };
    hooks.on_moved = [this] { ++moves; };
    hooks.on_displaced = [this](const TaskDriver::Displacement& by) { others.push_back(by); };
    driver.emplace(TaskDriver::Ports{timers, transport, output, {}, &journal},
                   TaskDriver::Work{plan,
                                    "t",
                                    {},
                                    "/",
                                    [](int, int) { return std::vector<EnvironmentEntry>(); },
                                    "boot",
                                    std::move(resume),
                                    is_to_end},
                   std::move(hooks));
    driver->start();
  }
  void launch() {
    make();
    for (const std::size_t host : {0u, 1u}) open(host);
    for (const std::size_t host : {0u, 1u}) say(host, ready(host));
  }
  static message::Ready ready(std::size_t host) {
    return {host == 0 ? std::vector{1'000} : std::vector<int>(), "/run"};
  }
  void open(std::size_t number) {
    link(number).events.on_open({"10.0.0.1", "ssh"});
    link(number).say(message::Hello{wire_version, "h", "boot", 1, {}});
  }
  /// Over a link that reaches an agent again.
  void meet(std::size_t number, std::vector<message::AttemptStatus> attempts) {
    link(number).events.on_open({"10.0.0.1", "ssh"});
    link(number).say(message::Hello{wire_version, "h", "boot", 1, std::move(attempts)});
  }
  void no_agent(std::size_t number) {
    link(number).events.on_open({"10.0.0.1", "ssh"});
    link(number).say(message::NoAgent{"boot"});
  }
  void say(std::size_t number, const Message& message, int attempt = 0) {
    link(number).say(about(message, {0, attempt}));
  }
  void started(std::size_t number, int rank, int attempt = 0) {
    say(number, message::RankStarted{rank, 100}, attempt);
  }
  void ended(std::size_t number, int rank, int code, bool after_stop = false, int attempt = 0) {
    say(number, message::RankEnded{rank, code, {}, false, after_stop, timers.time, {}}, attempt);
  }
  ManyLinks::Made& link(std::size_t number) { return transport.links.at(number); }
  /// Goes on with a task of this journal.
  void adopt(const std::vector<JournalRecord>& records, std::vector<std::uint64_t> positions = {}) {
    std::vector<JournalEntry> entries;
    for (const JournalRecord& each : records) entries.push_back({each, 900s, "boot"});
    auto known = replay(entries, Task::rules_of(plan.experiment), timers.time, "boot");
    REQUIRE(known);
    const std::uint64_t epoch = known->epoch + 1;
    make(TaskDriver::Resumption{std::move(*known),
                                epoch,
                                {{0, {std::move(positions), last_output, known_matches}}},
                                is_moved});
  }
  const message::Attach& attach_of(std::size_t number) {
    return std::get<message::Attach>(link(number).sent.front());
  }
  std::string cause() const {
    return driver->outcome().cause ? in_one_line(driver->outcome().cause->error) : "";
  }

  Plan plan;
  HandTimers timers;
  ManyLinks transport;
  KeptOutput output;
  HandJournal journal;
  std::vector<std::string> notes;
  std::vector<std::string> stopping;
  int all_started = 0;
  int overs = 0;
  int moves = 0;
  bool is_to_end = false;
  bool is_moved = false;  ///< the task that is adopted
  // Of the logs that are adopted.
  std::vector<OutputChunk> last_output;
  std::vector<std::size_t> known_matches;
  // What was told of output.
  std::vector<std::string> reports;
  std::uint64_t ignored_lines = 0;
  std::vector<std::string> matches;
  std::vector<TaskDriver::Displacement> others;  ///< that go on with the task
  std::optional<TaskDriver> driver;
};

OutputChunk chunk_of(OutputStream stream, std::string bytes, std::uint64_t begin = 0) {
  return {1, 0, stream, std::move(bytes), 1'000s, begin};
}
void print(ManyLinks::Made& link, const OutputChunk& chunk) {
  link.events.on_bytes(encode_frame(FrameKind::output, encode_output(chunk)));
}
LogPolicy hopeless(const char* pattern) {
  LogPolicy policy;
  policy.pattern = pattern;
  policy.cancels_retries = true;
  return policy;
}

message::Go adopted_go(int attempt) {
  message::Go go{"10.0.0.7", 2'900};
  go.of = {0, attempt};
  return go;
}
std::vector<message::AttemptStatus> running(int attempt = 0) { return {{{0, attempt}, true}}; }
std::vector<JournalRecord> started_task() {
  return {record::Supervised{1}, record::AttemptBegun{0}, record::RanksStarted{adopted_go(0)}};
}

}  // namespace

TEST_CASE("no host is told to start before it is on the disk that ranks are") {
  JournaledHosts hosts;
  hosts.launch();
  CHECK(hosts.link(0).all<message::Prepare>().size() == 1);
  CHECK(hosts.link(0).all<message::Go>().empty());
  CHECK(hosts.journal.waiting.back().durable);
  hosts.journal.write();
  CHECK(hosts.link(0).all<message::Go>().size() == 1);
  CHECK(hosts.link(1).all<message::Go>().size() == 1);
  REQUIRE(hosts.journal.count<record::RanksStarted>() == 1);
  const auto& started = std::get<record::RanksStarted>(hosts.journal.entries.back().record);
  CHECK(started.go == hosts.link(0).all<message::Go>().front());
  CHECK(hosts.journal.entries.back().boot_id == "boot");
}

TEST_CASE("a stop that comes while a start is being written down wins") {
  JournaledHosts hosts;
  hosts.launch();
  hosts.driver->stop(2);
  hosts.journal.write();
  for (const std::size_t host : {0u, 1u}) {
    const auto& sent = hosts.link(host).sent;
    const auto stop = std::find_if(sent.begin(), sent.end(), [](const Message& each) {
      return std::holds_alternative<message::Stop>(each);
    });
    CHECK(stop != sent.end());
  }
  // The disk may have been faster than the user; then the ranks were started and are stopped.
  SECTION("before the start was on the disk") {
    CHECK(hosts.journal.count<record::StopRequested>() == 1);
  }
  for (const std::size_t host : {0u, 1u}) hosts.say(host, message::Finished{});
  hosts.journal.write();
  CHECK(hosts.driver->over());
  CHECK(hosts.driver->outcome().stop_signal == 2);
}

TEST_CASE("a stop waits a second for a slow disk, and a second one for nothing") {
  JournaledHosts hosts;
  hosts.launch();
  hosts.journal.write();
  hosts.driver->stop(2);
  CHECK(hosts.link(0).all<message::Stop>().empty());
  SECTION("a second") {
    hosts.timers.pass(1s);
    CHECK(hosts.link(0).all<message::Stop>().size() == 1);
  }
  SECTION("another stop") {
    hosts.driver->stop(2);
    CHECK(hosts.link(0).all<message::Stop>().size() == 2);
    CHECK(hosts.link(0).all<message::Stop>()[1].grace == 0ms);
  }
  SECTION("the disk") {
    hosts.journal.write();
    CHECK(hosts.link(0).all<message::Stop>().size() == 1);
  }
}

TEST_CASE("where no journal can be written nothing is started, and that is the cause") {
  JournaledHosts hosts;
  hosts.journal.why_not = "the disk is full";
  hosts.launch();
  hosts.journal.write();
  CHECK(hosts.link(0).all<message::Go>().empty());
  for (const std::size_t host : {0u, 1u}) hosts.say(host, message::Finished{});
  REQUIRE(hosts.driver->over());
  CHECK(hosts.cause() == "the disk is full");
  CHECK(hosts.notes.size() == 1);
  CHECK(hosts.overs == 1);
}

TEST_CASE("when the journal fails later, what runs goes on and nothing follows it") {
  JournaledHosts hosts(3);
  hosts.launch();
  hosts.journal.write();
  for (const int host : {0, 1}) hosts.started(static_cast<std::size_t>(host), host);
  hosts.journal.why_not = "the disk is full";
  hosts.ended(0, 0, 3);
  hosts.journal.write();
  CHECK(hosts.link(1).all<message::Stop>().size() == 1);
  hosts.ended(1, 1, 143, true);
  for (const std::size_t host : {0u, 1u}) hosts.say(host, message::Finished{});
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().cause->rank == 0);
  CHECK(hosts.link(0).all<message::Prepare>().size() == 1);
}

TEST_CASE("agents keep what they know of an attempt until its end is on the disk") {
  JournaledHosts hosts(1);
  hosts.launch();
  hosts.journal.write();
  for (const int host : {0, 1}) {
    hosts.started(static_cast<std::size_t>(host), host);
    hosts.ended(static_cast<std::size_t>(host), host, 0);
  }
  hosts.say(0, message::Finished{});
  hosts.journal.write();
  CHECK(hosts.link(0).all<message::Bye>().empty());
  hosts.say(1, message::Finished{});
  CHECK(hosts.link(0).all<message::Bye>().empty());
  CHECK_FALSE(hosts.driver->over());
  REQUIRE(hosts.journal.waiting.size() == 1);
  CHECK(hosts.journal.waiting.front().durable);
  SECTION("the disk") { hosts.journal.write(); }
  SECTION("a disk that hangs") { hosts.timers.pass(10s); }
  SECTION("a user who cannot wait") { hosts.driver->stop(2); }
  CHECK(hosts.link(0).all<message::Bye>().size() == 1);
  CHECK(hosts.link(1).all<message::Bye>().size() == 1);
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().succeeded);
  CHECK(hosts.overs == 1);
}

TEST_CASE("an attempt is forgotten by nobody before it is written down that another one begins") {
  JournaledHosts hosts(1);
  hosts.launch();
  hosts.journal.write();
  for (const int host : {0, 1}) hosts.started(static_cast<std::size_t>(host), host);
  hosts.link(0).print(1, 0, "last words");
  hosts.ended(0, 0, 3);
  hosts.ended(1, 1, 143, true);
  for (const std::size_t host : {0u, 1u}) hosts.say(host, message::Finished{});
  CHECK(hosts.link(0).all<message::Prepare>().size() == 1);
  hosts.journal.write();
  CHECK(hosts.link(0).all<message::Prepare>().size() == 2);
  CHECK(hosts.link(1).all<message::Forget>().size() == 1);
  // Nor before its output would outlive a loss of power.
  CHECK(hosts.link(0).all<message::Forget>().empty());
  hosts.output.is_kept = 1;
  hosts.driver->acknowledge_output();
  CHECK(hosts.link(0).all<message::Forget>().size() == 1);
}

TEST_CASE("a stop ends a task whose next attempt waits to be written down") {
  JournaledHosts hosts(1);
  hosts.launch();
  hosts.journal.write();
  for (const int host : {0, 1}) hosts.started(static_cast<std::size_t>(host), host);
  hosts.ended(0, 0, 3);
  hosts.ended(1, 1, 143, true);
  for (const std::size_t host : {0u, 1u}) hosts.say(host, message::Finished{});
  REQUIRE_FALSE(hosts.driver->over());
  hosts.driver->stop(2);
  CHECK_FALSE(hosts.driver->over());
  SECTION("a slow disk") {
    hosts.journal.write();
    // An attempt that was begun tells its hosts to stop.
    for (const std::size_t host : {0u, 1u})
      if (!hosts.link(host).all<message::Prepare>().empty())
        hosts.say(host, message::Finished{}, 1);
    hosts.journal.write();
  }
  SECTION("a disk that hangs") {
    hosts.timers.pass(1s);
    hosts.timers.pass(10s);
  }
  SECTION("a user who cannot wait") {
    hosts.driver->stop(2);
    hosts.driver->stop(2);
  }
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().stop_signal == 2);
  CHECK(hosts.link(0).all<message::Go>().size() == 1);
  CHECK(hosts.link(0).all<message::Bye>().size() == 1);
  CHECK(hosts.link(1).all<message::Bye>().size() == 1);
  CHECK(hosts.overs == 1);
}

TEST_CASE("a task is adopted: its agents are met with a higher epoch and go on") {
  JournaledHosts hosts;
  hosts.adopt(started_task(), {10, 0});
  REQUIRE(hosts.transport.links.size() == 2);
  CHECK(hosts.link(0).call.verb == AgentCall::Verb::reattach);
  CHECK(hosts.driver->broken_hosts() == std::vector{0, 1});
  hosts.meet(0, running());
  hosts.meet(1, running());
  CHECK(hosts.attach_of(0).epoch == 2);
  CHECK(hosts.attach_of(0).positions == std::vector<message::OutputPosition>{{0, 10}});
  CHECK(hosts.attach_of(1).positions.empty());
  CHECK(hosts.driver->broken_hosts().empty());
  CHECK(hosts.link(0).all<message::Go>().empty());
  hosts.link(0).print(1, 10, "more");
  CHECK(hosts.output.text == "more");
  hosts.say(0, hosts.ready(0));
  for (const int host : {0, 1}) {
    hosts.started(static_cast<std::size_t>(host), host);
    hosts.ended(static_cast<std::size_t>(host), host, 0);
    hosts.say(static_cast<std::size_t>(host), message::Finished{});
  }
  hosts.journal.write();
  CHECK(hosts.all_started == 1);
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().succeeded);
  CHECK(hosts.journal.count<record::RanksStarted>() == 0);
  CHECK(hosts.journal.count<record::TaskOver>() == 1);
}

TEST_CASE("what was found in output before is not reported once more, and a torn line is whole") {
  JournaledHosts hosts;
  hosts.plan.experiment.metrics.patterns = {"loss (?P<loss>[0-9.]+)"};
  hosts.last_output = {chunk_of(OutputStream::out, "loss 3\nloss 0.")};
  hosts.adopt(started_task(), {14, 0, 0, 0});
  hosts.meet(0, running());
  print(hosts.link(0), chunk_of(OutputStream::out, "5\nloss 0.25\n", 14));
  CHECK(hosts.reports == std::vector<std::string>{R"({"loss":0.5})", R"({"loss":0.25})"});
}

TEST_CASE("a report that was torn by the death of a launcher is whole for the next one") {
  JournaledHosts hosts;
  SECTION("all of it is there") {
    hosts.last_output = {chunk_of(OutputStream::metrics, "[1]\n{\"before\": 1}\n{\"step\": ")};
    hosts.adopt(started_task(), {0, 0, 27, 0});
    hosts.meet(0, running());
    print(hosts.link(0), chunk_of(OutputStream::metrics, "2}\n{}\n", 27));
    CHECK(hosts.reports == std::vector<std::string>{R"({"step":2})", "{}"});
    CHECK(hosts.ignored_lines == 0);
  }
  SECTION("its beginning is not kept") {
    hosts.last_output = {chunk_of(OutputStream::metrics, {})};
    hosts.last_output.back().dropped = 1;
    hosts.adopt(started_task(), {0, 0, 27, 0});
    hosts.meet(0, running());
    print(hosts.link(0), chunk_of(OutputStream::metrics, "{}\n{}\n", 27));
    CHECK(hosts.reports == std::vector<std::string>{"{}"});
    CHECK(hosts.ignored_lines == 1);
  }
}

TEST_CASE("a line that was torn by the death of a launcher is looked at once, and whole") {
  JournaledHosts hosts;
  hosts.plan.experiment.log_policies = {hopeless("^out of memory$")};
  hosts.last_output = {chunk_of(OutputStream::out, "all is well\nout of ")};
  hosts.adopt(started_task(), {100, 0});
  CHECK(hosts.matches.empty());
  hosts.meet(0, running());
  print(hosts.link(0), chunk_of(OutputStream::out, "memory\nout of memory\n", 100));
  CHECK(hosts.matches == std::vector<std::string>{"out of memory"});
  hosts.journal.write();
  CHECK(hosts.journal.count<record::AttemptHopeless>() == 1);
}

TEST_CASE("what a policy had found when its launcher died is found again, unless it is on record") {
  JournaledHosts hosts;
  hosts.plan.experiment.log_policies = {hopeless("memory")};
  auto records = started_task();
  hosts.last_output = {chunk_of(OutputStream::err, "out of memory\n")};
  const int told = GENERATE(0, 1, 2);
  if (told > 0) hosts.known_matches = {0};
  if (told > 1) records.emplace_back(record::AttemptHopeless{});
  hosts.adopt(records);
  CHECK(hosts.matches.size() == (told == 0 ? 1 : 0));
  hosts.journal.write();
  CHECK(hosts.journal.count<record::AttemptHopeless>() == (told == 2 ? 0 : 1));
  for (const int host : {0, 1}) {
    const auto number = static_cast<std::size_t>(host);
    hosts.meet(number, running());
    hosts.started(number, host);
    hosts.ended(number, host, 3);
    hosts.say(number, message::Finished{});
  }
  hosts.journal.write();
  CHECK(hosts.driver->over());
}

// A host that was lost with the attempt may be back while another one is waited for.
TEST_CASE("what still comes of an attempt that is over says nothing of the next one") {
  JournaledHosts hosts(3);
  hosts.plan.experiment.log_policies = {hopeless("memory")};
  hosts.plan.experiment.restart_delay = 1s;
  hosts.launch();
  hosts.journal.write();
  for (const int host : {0, 1}) {
    const auto number = static_cast<std::size_t>(host);
    hosts.started(number, host);
    hosts.ended(number, host, host == 0 ? 3 : 143, host != 0);
    hosts.say(number, message::Finished{});
  }
  print(hosts.link(0), chunk_of(OutputStream::out, "out of memory\nmemory"));
  OutputChunk report = chunk_of(OutputStream::metrics, "{\"torn\"");
  report.number = 2;
  print(hosts.link(0), report);
  hosts.timers.pass(1s);
  hosts.journal.write();
  CHECK(hosts.matches == std::vector<std::string>{"out of memory"});
  CHECK(hosts.ignored_lines == 1);
  CHECK(hosts.journal.count<record::AttemptHopeless>() == 0);
  for (const int host : {0, 1}) {
    const auto number = static_cast<std::size_t>(host);
    hosts.say(number, hosts.ready(number), 1);
  }
  hosts.journal.write();
  report = chunk_of(OutputStream::metrics, "{\"whole\": 1}\n");
  report.number = 3;
  report.of.attempt = 1;
  print(hosts.link(0), report);
  CHECK(hosts.reports == std::vector<std::string>{R"({"whole":1})"});
  for (const int host : {0, 1}) {
    const auto number = static_cast<std::size_t>(host);
    hosts.started(number, host, 1);
    hosts.ended(number, host, host == 0 ? 3 : 143, host != 0, 1);
    hosts.say(number, message::Finished{}, 1);
  }
  hosts.journal.write();
  CHECK_FALSE(hosts.driver->over());
  CHECK(replay(hosts.journal.entries, Task::rules_of(hosts.plan.experiment), 2'000s, "boot"));
}

TEST_CASE("a task whose time is over is stopped like by its user, by whoever attends it") {
  JournaledHosts hosts;
  hosts.plan.experiment.max_runtime = 150s;
  SECTION("the launcher that has started it") {
    hosts.launch();
    hosts.journal.write();
    for (const int host : {0, 1}) hosts.started(static_cast<std::size_t>(host), host);
    hosts.timers.pass(149s);
    CHECK(hosts.stopping.empty());
    hosts.timers.pass(1s);
  }
  SECTION("one that adopts it before, 100 s after its ranks were started") {
    hosts.adopt(started_task());
    for (const std::size_t host : {0u, 1u}) hosts.meet(host, running());
    hosts.timers.pass(49s);
    CHECK(hosts.stopping.empty());
    hosts.timers.pass(1s);
  }
  SECTION("one that adopts it after that") {
    hosts.plan.experiment.max_runtime = 99s;
    hosts.adopt(started_task());
    hosts.timers.pass(0s);
    for (const std::size_t host : {0u, 1u}) hosts.meet(host, running());
  }
  hosts.journal.write();
  CHECK(hosts.stopping == std::vector<std::string>{"max_runtime is over: stopping all ranks"});
  CHECK(hosts.journal.count<record::StopRequested>() == 1);
  for (const int host : {0, 1}) {
    const auto number = static_cast<std::size_t>(host);
    CHECK(hosts.link(number).all<message::Stop>().size() == 1);
    hosts.started(number, host);
    hosts.ended(number, host, 143, true);
    hosts.say(number, message::Finished{});
  }
  hosts.journal.write();
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().stop_signal == runtime_over);
}

TEST_CASE("a task whose time was over before its launcher died ends for that reason") {
  JournaledHosts hosts;
  auto records = started_task();
  records.push_back(record::StopRequested{runtime_over});
  hosts.adopt(records);
  for (const std::size_t host : {0u, 1u}) hosts.meet(host, running());
  for (const int host : {0, 1}) {
    const auto number = static_cast<std::size_t>(host);
    CHECK(hosts.link(number).all<message::Stop>().size() == 1);
    hosts.started(number, host);
    hosts.ended(number, host, 0, true);
    hosts.say(number, message::Finished{});
  }
  hosts.journal.write();
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().stop_signal == runtime_over);
}

TEST_CASE("an agent that was not told to start before its launcher died is told now") {
  JournaledHosts hosts;
  hosts.adopt(started_task());
  hosts.meet(0, running());
  hosts.meet(1, {{{0, 0}, false}});
  CHECK(hosts.link(0).all<message::Go>().empty());
  REQUIRE(hosts.link(1).all<message::Go>().size() == 1);
  CHECK(hosts.link(1).all<message::Go>().front() == adopted_go(0));
}

TEST_CASE("an agent that has gone, or is another one, is a host that is lost") {
  JournaledHosts hosts(0);
  hosts.adopt(started_task());
  hosts.meet(1, running());
  hosts.started(1, 1);
  std::string why;
  SECTION("gone") {
    hosts.no_agent(0);
    why = "host 'h0': its agent has ended, and its ranks with it";
  }
  SECTION("another one") {
    hosts.meet(0, {});
    why = "host 'h0': its agent knows nothing of these ranks";
  }
  SECTION("it has stopped its ranks") {
    hosts.meet(0, {{{0, 0}, true, message::OwnStop::launcher}});
    why =
        "host 'h0': its agent stopped its ranks: its connection had ended as when a launcher dies";
    hosts.say(0, message::Finished{});
  }
  CHECK(hosts.link(1).all<message::Stop>().size() == 1);
  hosts.ended(1, 1, 143, true);
  hosts.say(1, message::Finished{});
  hosts.journal.write();
  REQUIRE(hosts.driver->over());
  CHECK(hosts.cause().starts_with(why));
}

TEST_CASE("an attempt that was failing is stopped, and what is known of why stays the cause") {
  JournaledHosts hosts(0);
  auto records = started_task();
  const Failure lost{{890s, 1s}, make_error(ErrorClass::host, "host 'h1': lost"), {}, 1, 0};
  records.push_back(record::AttemptFailing{lost});
  hosts.adopt(records);
  CHECK(hosts.stopping == std::vector<std::string>{"host 'h1': lost: stopping all ranks"});
  hosts.meet(0, running());
  REQUIRE(hosts.link(0).all<message::Stop>().size() == 1);
  hosts.started(0, 0);
  hosts.ended(0, 0, 143, true);
  hosts.say(0, message::Finished{});
  hosts.no_agent(1);
  hosts.journal.write();
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().cause->host == 1);
}

TEST_CASE(
    "an agent that was started after the ranks does not speak for them when they are stopped") {
  JournaledHosts hosts(0);
  auto records = started_task();
  records.push_back(record::AttemptFailing{});
  hosts.adopt(records);
  hosts.meet(0, {});
  hosts.meet(1, running());
  hosts.started(1, 1);
  hosts.ended(1, 1, 143, true);
  hosts.say(1, message::Finished{});
  hosts.journal.write();
  REQUIRE(hosts.driver->over());
  REQUIRE(hosts.driver->outcome().leftovers.size() == 1);
  CHECK(hosts.driver->outcome().leftovers.front().host == 0);
}

TEST_CASE("what the user has asked the one before for is done") {
  JournaledHosts hosts(5);
  auto records = started_task();
  records.push_back(record::StopRequested{15});
  hosts.adopt(records);
  for (const std::size_t host : {0u, 1u}) {
    hosts.meet(host, running());
    CHECK(hosts.link(host).all<message::Stop>().size() == 1);
    hosts.started(host, static_cast<int>(host));
    hosts.ended(host, static_cast<int>(host), 143, true);
    hosts.say(host, message::Finished{});
  }
  hosts.journal.write();
  REQUIRE(hosts.driver->over());
  CHECK(hosts.driver->outcome().stop_signal == 15);
}

TEST_CASE(
    "an attempt that was only prepared is prepared again, and agents that have gone are not "
    "missed") {
  JournaledHosts hosts;
  hosts.adopt({record::Supervised{1}, record::AttemptBegun{0}, record::RanksStarted{adopted_go(0)},
               record::AttemptOver{failed_with(3)}, record::AttemptBegun{1}});
  hosts.meet(0, {{{0, 1}, false}});
  hosts.no_agent(1);
  CHECK(hosts.link(0).all<message::Prepare>().empty());
  hosts.journal.write();
  REQUIRE(hosts.link(0).all<message::Prepare>().size() == 1);
  CHECK(hosts.link(0).all<message::Prepare>().front().of.attempt == 1);
  hosts.timers.pass(1s);
  REQUIRE(hosts.transport.links.size() == 3);
  CHECK(hosts.link(2).call.verb == AgentCall::Verb::sweep);
  hosts.link(2).events.on_open({"10.0.0.2", "ssh"});
  hosts.link(2).events.on_bytes(encode_sweep_report({}) + "\n");
  REQUIRE(hosts.transport.links.size() == 4);
  hosts.open(3);
  hosts.say(0, hosts.ready(0), 1);
  hosts.say(3, hosts.ready(1), 1);
  CHECK(hosts.link(0).all<message::Go>().empty());
  hosts.journal.write();
  CHECK(hosts.link(0).all<message::Go>().size() == 1);
  CHECK(hosts.link(3).all<message::Go>().size() == 1);
  CHECK(hosts.journal.count<record::RanksStarted>() == 1);
}

TEST_CASE(
    "agents that wait for an attempt are told that there is none, however soon that is known") {
  JournaledHosts hosts;
  hosts.plan.experiment.restart_delay = 60s;
  auto records = started_task();
  records.push_back(record::AttemptOver{failed_with(3)});
  hosts.timers.time = 930s;
  hosts.adopt(records);
  hosts.driver->stop(15);
  hosts.journal.write();
  CHECK_FALSE(hosts.driver->over());
  hosts.meet(0, running());
  CHECK_FALSE(hosts.driver->over());
  SECTION("all are found") {
    hosts.meet(1, running());
    REQUIRE(hosts.driver->over());
    for (const std::size_t host : {0u, 1u}) CHECK(hosts.link(host).all<message::Bye>().size() == 1);
  }
  SECTION("one is not found in time") {
    hosts.timers.pass(5s);
    REQUIRE(hosts.driver->over());
    CHECK(hosts.link(0).all<message::Bye>().size() == 1);
  }
  CHECK(hosts.driver->outcome().stop_signal == 15);
}

TEST_CASE("an attempt that was waited for is waited for, and a stop ends that") {
  JournaledHosts hosts;
  hosts.plan.experiment.restart_delay = 60s;
  auto records = started_task();
  records.push_back(record::AttemptOver{failed_with(3)});
  hosts.timers.time = 930s;
  hosts.adopt(records);  // it ended at 900 s
  for (const std::size_t host : {0u, 1u}) hosts.meet(host, running());
  CHECK_FALSE(hosts.driver->has_run());
  SECTION("a stop") {
    hosts.driver->stop(2);
    hosts.journal.write();
    REQUIRE(hosts.driver->over());
    CHECK(hosts.driver->outcome().stop_signal == 2);
    CHECK(hosts.link(0).all<message::Bye>().size() == 1);
    CHECK(hosts.journal.count<record::TaskOver>() == 1);
  }
  SECTION("the attempt") {
    hosts.timers.pass(29s);
    hosts.journal.write();
    CHECK(hosts.link(0).all<message::Prepare>().empty());
    hosts.timers.pass(1s);
    hosts.journal.write();
    CHECK(hosts.link(0).all<message::Forget>().size() == 1);
    REQUIRE(hosts.link(0).all<message::Prepare>().size() == 1);
  }
}

TEST_CASE("ranks whose hosts are taken away are stopped, and nothing follows here") {
  JournaledHosts hosts(0);  // no restart is needed for that
  hosts.launch();
  hosts.journal.write();
  hosts.started(0, 0);
  hosts.started(1, 1);
  hosts.driver->move();
  CHECK(hosts.stopping == std::vector<std::string>{"its hosts are taken away: stopping all ranks"});
  for (const std::size_t host : {0u, 1u}) CHECK(hosts.link(host).all<message::Stop>().size() == 1);
  SECTION("and they end for it") {
    hosts.ended(0, 0, 3, true);
    CHECK(hosts.moves == 0);
    hosts.ended(1, 1, 7);
    for (const std::size_t host : {0u, 1u}) hosts.say(host, message::Finished{});
    hosts.timers.pass(3600s);
    hosts.journal.write();
    CHECK(hosts.moves > 0);
    CHECK(hosts.overs == 0);
    CHECK(hosts.journal.count<record::AttemptOver>() == 1);
    CHECK(hosts.journal.count<record::AttemptBegun>() == 1);
    CHECK(hosts.link(0).all<message::Prepare>().size() == 1);
    // Its user still has the last word.
    hosts.driver->stop(15);
    hosts.journal.write();
    hosts.timers.pass(10s);
    CHECK(hosts.overs == 1);
    CHECK(hosts.driver->outcome().stop_signal == 15);
  }
  SECTION("and they were done") {
    for (const std::size_t host : {0u, 1u}) {
      hosts.ended(host, static_cast<int>(host), 0);
      hosts.say(host, message::Finished{});
    }
    hosts.journal.write();
    hosts.timers.pass(10s);
    CHECK(hosts.overs == 1);
    CHECK(hosts.moves == 0);
    CHECK(hosts.driver->outcome().succeeded);
  }
}

TEST_CASE("agents whose place others take are given the time to leave") {
  JournaledHosts hosts(0);
  hosts.launch();
  hosts.journal.write();
  for (const std::size_t host : {0u, 1u}) {
    hosts.started(host, static_cast<int>(host));
    hosts.ended(host, static_cast<int>(host), 0);
    hosts.say(host, message::Finished{});
  }
  hosts.journal.write();
  REQUIRE(hosts.overs == 1);
  int have_left = 0;
  hosts.driver->await_agents([&] { ++have_left; }, 15s);
  hosts.timers.pass(5s);
  CHECK(have_left == 0);
  hosts.link(0).events.on_closed(make_error(ErrorClass::host, "it has left"));
  hosts.timers.pass(5s);
  CHECK(have_left == 0);
  SECTION("and do") {
    hosts.link(1).events.on_closed(make_error(ErrorClass::host, "it has left"));
    hosts.timers.pass(0s);
  }
  SECTION("but not for ever") { hosts.timers.pass(6s); }
  CHECK(have_left == 1);
}

TEST_CASE("a task that was moved begins its next attempt as at a launch") {
  JournaledHosts hosts(0);
  AttemptEnd moved;
  moved.any_started = moved.is_moved = true;
  auto records = started_task();
  records.emplace_back(record::AttemptOver{moved});
  hosts.is_moved = true;
  hosts.adopt(records);
  for (const std::size_t host : {0u, 1u}) {
    CHECK(hosts.link(host).call.verb == AgentCall::Verb::attach);
    hosts.open(host);
  }
  CHECK(hosts.link(0).all<message::Prepare>().empty());
  hosts.journal.write();
  for (const std::size_t host : {0u, 1u}) {
    REQUIRE(hosts.link(host).all<message::Prepare>().size() == 1);
    CHECK(hosts.link(host).all<message::Prepare>()[0].of.attempt == 1);
    hosts.say(host, JournaledHosts::ready(host), 1);
  }
  hosts.journal.write();
  for (const std::size_t host : {0u, 1u}) CHECK(hosts.link(host).all<message::Go>().size() == 1);
  hosts.started(0, 0, 1);
  hosts.started(1, 1, 1);
  CHECK(hosts.all_started == 1);
}

TEST_CASE("output of an attempt before that comes again is passed over") {
  JournaledHosts hosts;
  hosts.adopt({record::Supervised{1}, record::AttemptBegun{0}, record::RanksStarted{adopted_go(0)},
               record::AttemptOver{failed_with(3)}, record::AttemptBegun{1}});
  hosts.journal.write();
  hosts.meet(0, {{{0, 0}, true}, {{0, 1}, false}});
  CHECK(hosts.link(0).all<message::Forget>().size() == 1);
  hosts.link(0).print(1, 0, "of attempt 0");
  CHECK(hosts.output.text.empty());
  REQUIRE(hosts.link(0).all<message::Acknowledge>().size() == 1);
  CHECK(hosts.link(0).all<message::Acknowledge>().front().chunk == 1);
  CHECK_FALSE(hosts.driver->over());
}

namespace {

// Nothing more goes to any host, and none is reached, whatever happens.
void check_left(JournaledHosts& hosts) {
  REQUIRE(hosts.others.size() == 1);
  CHECK(hosts.driver->displacement() != nullptr);
  std::size_t sent = 0;
  for (const auto& link : hosts.transport.links) sent += link.sent.size();
  const std::size_t links = hosts.transport.links.size();
  const std::size_t entries = hosts.journal.waiting.size();
  hosts.driver->stop(2);
  hosts.driver->acknowledge_output();
  for (int second = 0; second < 200; ++second) hosts.timers.pass(1s);
  for (const auto& link : hosts.transport.links) {
    sent -= link.sent.size();
    CHECK(link.is_closed);
    CHECK(link.all<message::Bye>().empty());
  }
  CHECK(sent == 0);
  CHECK(hosts.transport.links.size() == links);
  CHECK(hosts.journal.waiting.size() == entries);
  CHECK(hosts.others.size() == 1);
  CHECK(hosts.overs == 0);
  CHECK_FALSE(hosts.driver->over());
}

}  // namespace

TEST_CASE("a launcher that hears of a later one does nothing any more, whichever host says so") {
  JournaledHosts hosts;
  hosts.launch();
  hosts.journal.write();
  for (const int rank : {0, 1}) hosts.started(static_cast<std::size_t>(rank), rank);
  hosts.journal.is_taken = true;
  SECTION("on the stream that it has") {
    hosts.link(1).say(message::Displaced{2, "process 7 on 'b'"});
  }
  SECTION("on a new one, in place of Hello") {
    hosts.link(1).events.on_closed(make_error(ErrorClass::host, "connection reset"));
    hosts.link(2).events.on_open({"10.0.0.1", "ssh"});
    hosts.link(2).say(message::Displaced{2, "process 7 on 'b'"});
  }
  CHECK(hosts.others.empty());
  CHECK(hosts.journal.looks.size() == 1);
  hosts.journal.report_looks();
  REQUIRE(hosts.others.size() == 1);
  CHECK(hosts.others.front().by == "process 7 on 'b'");
  CHECK(hosts.others.front().host == hosts.plan.trial.hosts[1].host.name);
  check_left(hosts);
}

TEST_CASE("so does one whose journal has been gone on with by another one") {
  JournaledHosts hosts;
  hosts.launch();
  hosts.journal.why_not = "another launcher has taken over task 't'";
  hosts.journal.is_taken = true;
  hosts.journal.write();  // that ranks are to be started
  CHECK(hosts.link(0).all<message::Go>().empty());
  REQUIRE(hosts.others.size() == 1);
  CHECK(hosts.others.front().host.empty());
  check_left(hosts);
}

TEST_CASE("a host that tells of a later launcher is not believed where the journal knows of none") {
  JournaledHosts hosts(0);
  hosts.launch();
  hosts.journal.write();
  for (const int rank : {0, 1}) hosts.started(static_cast<std::size_t>(rank), rank);
  hosts.link(1).say(message::Displaced{2, "process 7 on 'b'"});
  hosts.link(1).events.on_closed(make_error(ErrorClass::host, "connection reset"));
  hosts.link(2).events.on_open({"10.0.0.1", "ssh"});
  hosts.link(2).say(message::Displaced{3, "process 8 on 'b'"});
  CHECK(hosts.journal.looks.size() == 1);
  CHECK(hosts.link(0).all<message::Stop>().empty());
  hosts.journal.report_looks();
  CHECK(hosts.others.empty());
  CHECK(hosts.driver->displacement() == nullptr);
  // The run ends as where a host is lost.
  CHECK(hosts.link(0).all<message::Stop>().size() == 1);
  hosts.ended(0, 0, 143, true);
  hosts.say(0, message::Finished{});
  hosts.journal.write();
  REQUIRE(hosts.driver->over());
  const Failure& cause = hosts.driver->outcome().cause.value();
  CHECK(
      cause.error.diagnostics.front().message ==
      "host 'h1': its agent serves another launcher of this task (process 7 on 'b'), of which the "
      "registry knows nothing");
}

TEST_CASE("what the journal says of another launcher is heard once, and not after the end") {
  JournaledHosts hosts(0);
  hosts.launch();
  hosts.journal.write();
  for (const int rank : {0, 1}) hosts.started(static_cast<std::size_t>(rank), rank);
  hosts.link(1).say(message::Displaced{2, "process 7 on 'b'"});
  SECTION("found by an entry that was not written") {
    hosts.journal.is_taken = true;
    hosts.driver->displace({});
    hosts.journal.report_looks();
    REQUIRE(hosts.others.size() == 1);
    CHECK(hosts.others.front().by == "process 7 on 'b'");
  }
  SECTION("after the driver has gone") {
    hosts.driver.reset();
    hosts.journal.report_looks();
    CHECK(hosts.others.empty());
  }
}

TEST_CASE("a host that tells of a launcher before this one does not speak the protocol") {
  JournaledHosts hosts;
  hosts.adopt(started_task());
  hosts.meet(0, running());
  hosts.meet(1, running());
  hosts.link(0).say(message::Displaced{2, ""});  // this one's own
  CHECK(hosts.others.empty());
  CHECK(hosts.link(0).all<message::Bye>().size() == 1);
  CHECK(hosts.link(1).all<message::Stop>().size() == 1);
}

TEST_CASE("no host keeps a task from being stopped by telling of a later launcher") {
  JournaledHosts hosts;
  hosts.is_to_end = true;
  hosts.adopt(started_task());
  hosts.driver->stop(15);
  hosts.journal.write();
  hosts.meet(0, running());
  hosts.link(1).events.on_open({"10.0.0.1", "ssh"});
  hosts.link(1).say(message::Displaced{9, "nobody"});
  CHECK(hosts.others.empty());
  CHECK(hosts.link(0).all<message::Stop>().size() == 1);
  hosts.started(0, 0);
  hosts.ended(0, 0, 0, true);
  hosts.say(0, message::Finished{});
  hosts.journal.write();
  REQUIRE(hosts.driver->over());
  std::vector<std::string> why;
  for (const Leftover& leftover : hosts.driver->outcome().leftovers)
    why.push_back(std::to_string(leftover.host) + ": " + leftover.why);
  CHECK(why ==
        std::vector<std::string>{"1: its agent serves another launcher of this task (nobody)"});
}
