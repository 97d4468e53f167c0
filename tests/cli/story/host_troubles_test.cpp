// SPDX-License-Identifier: Apache-2.0
#include "cli/story/host_troubles.hpp"

#include "cli/story/launch_report.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

// Hosts node01, node02, ..., of which some fail, the first with the cause.
struct Failed {
  Failed() {
    for (int i = 0; i < 9; ++i) {
      PlannedHost host;
      host.host.name = "node0" + std::to_string(i + 1);
      host.host.address = i == 8 ? "gate.example.org" : "";
      trial.hosts.push_back(host);
    }
  }

  void host(int number, const std::string& message, const std::string& hint = {}) {
    const std::string name = trial.hosts[number - 1].host.name;
    Failure failure{
        {},
        with_context(make_error(ErrorClass::host, message, hint), "host '" + name + "'"),
        {},
        number - 1,
        0};
    if (outcome.cause)
      outcome.others.push_back(failure);
    else
      outcome.cause = failure;
  }
  std::vector<std::string> troubles() const {
    std::vector<std::string> texts;
    for (const HostTrouble& trouble : host_troubles(outcome, trial))
      texts.push_back(render(trouble.named(trial)));
    return texts;
  }

  Trial trial;
  RunOutcome outcome;
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("hosts with the same trouble at their own addresses are told together") {
  Failed failed;
  failed.host(3, "connection refused at 10.77.1.3:22");
  failed.host(1, "no answer from 10.77.1.1:22");
  failed.host(7, "connection refused at 10.77.1.7:22");
  failed.host(2, "no answer from [fd00::2]:22, which is silent");
  failed.host(5, "[fd00::5]:22 was silent for 20 s");
  failed.host(6, "node06:22 was silent for 20 s");
  failed.host(9, "gate.example.org:22 was silent for 20 s");
  CHECK(failed.troubles() == Texts{"hosts node[03,07]: connection refused at port 22",
                                   "host 'node01': no answer from 10.77.1.1:22",
                                   "host 'node02': no answer from [fd00::2]:22, which is silent",
                                   "hosts node[05-06,09]: port 22 was silent for 20 s"});
}

TEST_CASE("an address that is the same for all is kept, and another port is another trouble") {
  Failed failed;
  for (const int number : {1, 2})
    failed.host(number, "its jump host 'gate': no answer from 10.0.0.1:2200");
  failed.host(3, "connection refused at 10.77.1.3:22");
  failed.host(4, "connection refused at 10.77.1.4:23");
  CHECK(failed.troubles() ==
        Texts{"hosts node[01-02]: its jump host 'gate': no answer from 10.0.0.1:2200",
              "host 'node03': connection refused at 10.77.1.3:22",
              "host 'node04': connection refused at 10.77.1.4:23"});
}

TEST_CASE("words with colons and digits that are no addresses stay") {
  Failed failed;
  failed.host(1, "its key SHA256:12 is at known_hosts:4, since 12:30");
  failed.host(2, "its key SHA256:13 is at known_hosts:4, since 12:30");
  CHECK(failed.troubles() ==
        Texts{"host 'node01': its key SHA256:12 is at known_hosts:4, since 12:30",
              "host 'node02': its key SHA256:13 is at known_hosts:4, since 12:30"});
}

TEST_CASE("while ranks run, what may have happened first stays apart from what came later") {
  Failed failed;
  failed.outcome.all_started = true;
  failed.host(1, "gone");
  failed.host(2, "lost");
  failed.host(3, "lost");
  failed.host(4, "gone");
  failed.outcome.simultaneous = {0, 2};
  const auto troubles = host_troubles(failed.outcome, failed.trial);
  REQUIRE(troubles.size() == 3);
  CHECK(troubles[0].hosts == std::vector{0, 3});
  CHECK(troubles[1].may_be_first);
  CHECK_FALSE(troubles[2].may_be_first);
}

TEST_CASE("all that is wrong with hosts is told with what to do, the cause last") {
  Failed failed;
  failed.host(2, "connection refused at 10.77.1.2:22", "start sshd");
  failed.host(3, "name 'node03' does not resolve", "correct it");
  failed.host(4, "connection refused at 10.77.1.4:22", "start sshd");
  failed.outcome.undecided = {4, 5, 7};
  Terminal terminal([] {});
  const RankOutput output(terminal, Tee{});
  CHECK(last_words(failed.outcome, failed.trial, output, TaskRecord()).text() ==
        "also: host 'node03': name 'node03' does not resolve\n  correct it\n"
        "also: hosts node[05-06,08]: no answer by then\n"
        "hosts node[02,04]: connection refused at port 22\n  start sshd\n"
        "failed: host: hosts node[02,04]: connection refused at port 22 (exit 76)");
}
