// SPDX-License-Identifier: Apache-2.0
#include "cli/story/launch_status.hpp"

#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;
using Phase = LaunchStatus::Phase;
using Rows = std::vector<std::string>;

namespace {

LaunchStatus running_status() {
  LaunchStatus status;
  status.phase = Phase::running;
  status.hosts = {{"running", {"node01", "node02"}}};
  status.ranks = status.ranks_left = 16;
  status.elapsed = 192'000ms;
  return status;
}

}  // namespace

TEST_CASE("a start names the hosts that are not ready, by what they do") {
  LaunchStatus status;
  status.ranks = status.ranks_left = 8;
  status.elapsed = 3'200ms;
  status.hosts = {{"connecting", {"n3", "n4"}}, {"preparing", {"n2"}}, {"ready", {"n1"}}};
  CHECK(launch_status_rows(status) ==
        Rows{"connecting  n[3-4]", "preparing   n2", "starting, 3.2s: 1 of 4 hosts ready"});
  status.hosts = {{"connecting", {"n1"}}};
  status.restart = 1;
  status.max_restarts = 3;
  CHECK(launch_status_rows(status) ==
        Rows{"connecting  n1", "starting, 3.2s: 0 of 1 host ready; restart 1 of 3"});
}

TEST_CASE("a run is summed up in a row") {
  LaunchStatus status = running_status();
  CHECK(launch_status_rows(status) == Rows{"16 ranks on 2 hosts, 3m12s"});
  status.last_report =
      R"({"loss": 0.123456, "epoch": 3, "note": "x", "big": 1e30, "a": 1, "b": 2})";
  status.cpus = 15.84;
  status.memory = 3u << 30;
  status.restart = 2;
  status.max_restarts = 5;
  CHECK(launch_status_rows(status) ==
        Rows{"16 ranks on 2 hosts, 3m12s; restart 2 of 5; loss 0.1235, epoch 3, big 1e+30, a 1; "
             "15.8 CPUs; 3.0 GiB"});
}

TEST_CASE("GPUs are shown before CPUs, as far as they are known") {
  LaunchStatus status = running_status();
  status.cpus = 1.5;
  status.gpus = 5.24;
  status.slots_with_gpus = 8;
  status.gpu_memory = std::uint64_t{310} << 30;
  CHECK(launch_status_rows(status) ==
        Rows{"16 ranks on 2 hosts, 3m12s; 5.2 of 8 GPUs, 310.0 GiB; 1.5 CPUs"});
  status.gpus.reset();
  CHECK(launch_status_rows(status) ==
        Rows{"16 ranks on 2 hosts, 3m12s; 310.0 GiB of GPUs; 1.5 CPUs"});
  status.gpu_memory.reset();
  status.gpus = 0;
  status.slots_with_gpus = 1;
  CHECK(launch_status_rows(status) == Rows{"16 ranks on 2 hosts, 3m12s; 0.0 of 1 GPU; 1.5 CPUs"});
}

TEST_CASE("reports that are no numbers are not shown, and names of metrics are escaped") {
  LaunchStatus status = running_status();
  for (const char* report : {"", "[1]", "{", R"({"loss": null, "text": "x"})"}) {
    status.last_report = report;
    CHECK(launch_status_rows(status) == Rows{"16 ranks on 2 hosts, 3m12s"});
  }
  status.last_report = "{\"a\\u001b[2J\": 18446744073709551615}";
  const Rows rows = launch_status_rows(status);
  CHECK(rows.back().find('\x1b') == std::string::npos);
  CHECK(rows.back().find("18446744073709551615") != std::string::npos);
}

TEST_CASE("hosts with ranks that are left are named once some have ended") {
  LaunchStatus status = running_status();
  status.ranks_left = 5;
  status.hosts = {{"running", {"node02"}}};
  CHECK(launch_status_rows(status) == Rows{"5 of 16 ranks left on node02, 3m12s"});
  status.phase = Phase::stopping;
  status.elapsed = 4'000ms;
  CHECK(launch_status_rows(status) == Rows{"stopping, 4.0s: 5 of 16 ranks left on node02"});
}

TEST_CASE("progress bars come first") {
  LaunchStatus status = running_status();
  status.unfinished = {"[0] 50% |##  |", "[1] 25% |#   |"};
  CHECK(launch_status_rows(status) ==
        Rows{"[0] 50% |##  |", "[1] 25% |#   |", "16 ranks on 2 hosts, 3m12s"});
}
