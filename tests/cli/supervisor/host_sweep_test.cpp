// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/host_sweep.hpp"

#include <csignal>

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

// Hosts that say what a test wants, or nothing.
class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(Loop& loop) : loop_(loop) {}

  std::unique_ptr<HostLink> open(const Host& host, const AgentCall& call,
                                 LinkEvents events) override {
    asked.push_back(host.name + " " + to_string(call.verb) + " " + call.key);
    loop_.post([this, name = host.name, events = std::move(events)] {
      if (const auto text = said.find(name); text != said.end()) {
        events.on_open({});
        for (const char byte : text->second) events.on_bytes(std::string_view(&byte, 1));
      }
      if (const auto why = broken.find(name); why != broken.end())
        events.on_closed(make_error(ErrorClass::host, why->second));
    });
    return std::make_unique<Link>();
  }

  std::vector<std::string> asked;
  std::map<std::string, std::string> said;
  std::map<std::string, std::string> broken;

 private:
  struct Link final : HostLink {
    void send(std::string) override {}
    std::size_t unsent_bytes() const override { return 0; }
  };
  Loop& loop_;
};

std::vector<AbandonedHost> hosts_called(const std::vector<std::string>& names) {
  std::vector<AbandonedHost> hosts;
  for (const std::string& name : names) {
    AbandonedHost& host = hosts.emplace_back();
    host.host.name = name;
    host.key = "task-" + std::to_string(hosts.size() - 1);
  }
  return hosts;
}

}  // namespace

TEST_CASE("every host is asked, and what each found is told") {
  Loop loop;
  FakeTransport transport(loop);
  transport.said["one"] = encode_sweep_report({false, true, 1, {}});
  transport.said["many"] = encode_sweep_report({false, true, 7, {{9, 0, "a\x1b[1mb"}}});
  transport.said["nothing"] = encode_sweep_report({false, true, 0, {}});
  transport.said["clean"] = encode_sweep_report({});
  transport.said["alive"] = encode_sweep_report({true, true, 0, {}});
  transport.said["wrong"] = "hello\n";
  transport.broken["gone"] = "connection refused";
  transport.broken["clean"] = "the agent exited with status 0";  // after its answer
  const auto hosts = hosts_called({"one", "many", "nothing", "clean", "alive", "wrong", "gone"});
  StopSignals signals;
  const auto answers = sweep_hosts(loop, transport, signals, hosts, 10s, {});
  CHECK(transport.asked.front() == "one sweep task-0");
  CHECK(transport.asked.size() == hosts.size());
  const std::string text = describe_sweep(hosts, answers).text();
  const std::string start =
      "host 'one': its agent was killed; 1 process that it had left was ended\n"
      "host 'many': its agent was killed; 7 processes that it had left were ended\n"
      "left on 'many': process 9 of user 0 could not be killed: a\\x1b[1mb\n"
      "host 'nothing': its agent was killed; it had left no processes\n"
      "host 'alive': its agent is still there, and ends its ranks by itself\n"
      "host 'wrong': it is not known what its agent has left: what the host answered is no "
      "report: ";
  CHECK(text.substr(0, start.size()) == start);
  CHECK(
      text.ends_with("\nhost 'gone': it is not known what its agent has left: connection refused"));
}

TEST_CASE("a signal cuts a sweep short, and what is not known is told") {
  StopSignals signals;
  Loop loop;
  FakeTransport transport(loop);
  const auto hosts = hosts_called({"silent"});
  std::raise(SIGTERM);  // held back until the sweep hears it
  const auto answers = sweep_hosts(loop, transport, signals, hosts, 60s, {});
  CHECK(verdict_of(answers) == SweepVerdict::unclear);
  CHECK(describe_sweep(hosts, answers).text() ==
        "host 'silent': it is not known what its agent has left: it was not waited for any longer");
}

TEST_CASE("what is left on many hosts fills no screen") {
  std::vector<std::string> names(40, "h");
  const auto hosts = hosts_called(names);
  const std::vector<Result<SweepReport>> answers(40, SweepReport{false, true, 2, {}});
  const std::string text = describe_sweep(hosts, answers).text();
  CHECK(std::count(text.begin(), text.end(), '\n') == 8);
  CHECK(text.ends_with("\n... and 32 more"));
}
