// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/verdict.hpp"

#include <nlohmann/json.hpp>

#include "launcher/fitness/fitness_json.hpp"
#include "tests/catch.hpp"

using namespace train;
using namespace std::chrono_literals;

namespace {

HostFitness healthy(int number) {
  HostFitness fitness;
  fitness.host.cpus = 8;
  fitness.host.memory = std::uint64_t{64} << 30;
  fitness.host.lease_identity = std::to_string(number);
  fitness.host.lease_folder = "/run/lock/train";
  fitness.disks = {
      {"temporary files", "/tmp", std::uint64_t{100} << 30, std::uint64_t{50} << 30, 1'000'000, ""},
      {std::string(shared_memory_use), "/dev/shm", std::uint64_t{32} << 30, std::uint64_t{32} << 30,
       -1, ""}};
  fitness.name = "node0" + std::to_string(number);
  fitness.name_addresses = {"10.0.0." + std::to_string(number)};
  fitness.program = "/usr/bin/python3";
  fitness.program_sha256 = std::string(64, 'a');
  fitness.script = "train.py";
  fitness.script_sha256 = std::string(64, 'b');
  fitness.python = PythonFacts{
      "/usr/bin/python3", "3.11.2", {{"torch", "2.4.0"}, {"numpy", "1.26.0"}}, "12.1", ""};
  return fitness;
}

struct Bench {
  std::vector<CheckedHost> hosts;

  explicit Bench(int count = 4) {
    for (int i = 1; i <= count; ++i) {
      Host host;
      host.name = "node0" + std::to_string(i);
      hosts.push_back({host, healthy(i), -50ms, 50ms});
    }
  }
  HostFitness& operator[](std::size_t host) { return *hosts[host].fitness; }
  // "node02 unfit script: ..." of each.
  std::vector<std::string> found() const {
    std::vector<std::string> lines;
    for (const HostFinding& each : judge(hosts))
      lines.push_back(hosts[each.host].host.name + " " + std::string(to_string(each.fitness)) +
                      " " + each.check + ": " + each.message);
    return lines;
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("nothing is found at hosts that are alike and have all they need") {
  CHECK(Bench(1).found().empty());
  CHECK(Bench(2).found().empty());
  CHECK(Bench(64).found().empty());
  CHECK(fitness_of(judge(Bench().hosts)) == Fitness::fit);
}

TEST_CASE("a host that does not answer is one of which nobody could tell") {
  Bench bench;
  bench.hosts[1].fitness = fail(ErrorClass::host, "connection refused");
  CHECK(bench.found() == Lines{"node02 unknown reach: connection refused"});
  CHECK(judge(bench.hosts).front().hint ==
        "'ssh node02 true' shows whether it can be logged in to");
  CHECK(fitness_of(judge(bench.hosts)) == Fitness::unknown);
  bench.hosts[2].fitness = fail(ErrorClass::missing, "no place takes the agent", "free some");
  CHECK(bench.found() == Lines{"node02 unknown reach: connection refused",
                               "node03 unfit reach: no place takes the agent"});
  CHECK(fitness_of(judge(bench.hosts)) == Fitness::unfit);
}

TEST_CASE("whoever has other code than most is unfit") {
  Bench bench;
  bench[2].script_sha256 = std::string(64, 'c');
  CHECK(bench.found() == Lines{"node03 unfit script: its 'train.py' differs from that of "
                               "node[01-02,04] (SHA-256 cccccccccccc here, bbbbbbbbbbbb there)"});
}

TEST_CASE("of two hosts that differ the first is taken to be right") {
  Bench bench(2);
  bench[1].python->packages["torch"] = "2.3.0";
  CHECK(bench.found() == Lines{"node02 unfit package: torch is 2.3.0 here and 2.4.0 on node01"});
}

TEST_CASE("versions on which ranks have to agree keep them from running, others are said") {
  Bench bench;
  bench[0].python->version = "3.12.1";
  bench[0].python->packages.clear();  // of another Python
  bench[1].python->packages["numpy"] = "2.0.0";
  bench[2].python->packages.erase("torch");
  bench[3].python->torch_cuda = "11.8";
  CHECK(bench.found() ==
        Lines{"node01 unfit python: /usr/bin/python3 is Python 3.12 here and 3.11 on node[02-04]",
              "node02 fit package: numpy is 2.0.0 here and 1.26.0 on node[03-04]",
              "node03 unfit package: torch is missing here and 2.4.0 on node[02,04]",
              "node04 unfit package: torch is built with CUDA 11.8 here and 12.1 on node[02-03]"});
}

TEST_CASE("a patch of Python makes no difference, nor does a program that is a Python") {
  Bench bench;
  bench[0].python->version = "3.11.9";
  bench[0].program_sha256 = std::string(64, 'd');
  CHECK(bench.found().empty());
}

TEST_CASE("a Python that does not answer is one of which nobody could tell") {
  Bench bench;
  bench[1].python = PythonFacts{"/usr/bin/python3", "", {}, "", "it has not ended within 10 s"};
  CHECK(bench.found() == Lines{"node02 unknown python: /usr/bin/python3 does not say its version: "
                               "it has not ended within 10 s"});
}

TEST_CASE("a driver is held against the CUDA that torch is built with, where there are GPUs") {
  const auto found_with = [](const char* driver, const char* cuda, bool has_gpu) {
    Bench bench(1);
    bench[0].host.driver = driver;
    bench[0].python->torch_cuda = cuda;
    if (has_gpu) bench[0].host.gpus.cuda = {0};
    return bench.found();
  };
  CHECK(found_with("470.82.01", "12.1", true) ==
        Lines{"node01 unfit driver: its driver 470.82.01 is too old for torch, which is built "
              "with CUDA 12.1"});
  CHECK(found_with("470.82.01", "12.1", false).empty());
  CHECK(found_with("525.60.13", "12.1", true).empty());
  CHECK(found_with("525.60.12", "12.1", true).size() == 1);
  CHECK(found_with("450.80.02", "11.8", true).empty());
  CHECK(found_with("575.57", "13.0", true).size() == 1);
  CHECK(found_with("580.65.06", "13.0", true).empty());
  CHECK(found_with("100", "99.0", true).empty());
  CHECK(found_with("nonsense", "12.1", true).size() == 1);
}

TEST_CASE("disks that are full, cannot be written to or have no room for files are unfit") {
  Bench bench;
  bench[0].disks[0].free = 1'000;
  bench[1].disks[0].trouble = "read-only file system";
  bench[2].disks[0].free_files = 3;
  bench[3].disks[1].size = std::uint64_t{64} << 20;
  bench[3].disks[1].free = std::uint64_t{64} << 20;
  CHECK(bench.found() ==
        Lines{"node01 unfit disk: /tmp (temporary files) is full: 0 MiB of 100 GiB are free",
              "node02 unfit disk: nothing can be written to /tmp (temporary files): read-only "
              "file system",
              "node03 unfit disk: /tmp (temporary files) has room for 3 more files",
              "node04 fit shared_memory: /dev/shm (shared memory) has 64 MiB, and data loaders may "
              "fill it"});
}

TEST_CASE("locked memory counts where there is RDMA") {
  Bench bench;
  bench[0].memory_lock = 65'536;
  bench[1].memory_lock = 65'536;
  bench[1].rdma = {{"mlx5_0/1", "ACTIVE", "200 Gb/sec (4X HDR)", "InfiniBand"}};
  bench[2].rdma = bench[1].rdma;
  bench[3].open_files = 256;
  CHECK(bench.found() == Lines{"node02 unfit memory_lock: a process may lock 64 KiB of memory, and "
                               "RDMA locks its buffers",
                               "node04 fit open_files: a process may open 256 files, and data "
                               "loaders open many"});
}

TEST_CASE("data that one host reads slowly, or not at all, is found") {
  Bench bench;
  constexpr std::uint64_t gigabyte = 1'000'000'000;
  for (std::size_t i = 0; i < 4; ++i) bench[i].data = DataFacts{"/data", gigabyte, 1s, ""};
  bench[0].data->took = 2'900ms;
  CHECK(bench.found().empty());
  bench[0].data->took = 4s;
  bench[1].data = DataFacts{"/data", 0, 0s, "no such file or directory"};
  bench[2].data = DataFacts{"/data", 1'000'000, 1s, ""};  // too little to tell
  bench[3].data->took = 1s;
  CHECK(bench.found() ==
        Lines{"node02 unfit data: /data cannot be read: no such file or directory"});
  bench[2].data = DataFacts{"/data", gigabyte, 1s, ""};
  CHECK(bench.found() ==
        Lines{"node01 unfit data: it reads /data at 250.0 MB/s, and the median of all is 1.0 GB/s",
              "node02 unfit data: /data cannot be read: no such file or directory"});
}

TEST_CASE("a short reading of data is not judged by its pace") {
  Bench bench(4);
  for (std::size_t i = 0; i < 4; ++i) bench[i].data = DataFacts{"/data", 32 << 20, 10ms, ""};
  bench[2].data->took = 400ms;
  CHECK(bench.found().empty());
  bench[2].data->took = 600ms;
  CHECK(bench.found() ==
        Lines{"node03 unfit data: it reads /data at 55.9 MB/s, and the median of all is 3.4 GB/s"});
}

TEST_CASE("a clock is wrong only where it cannot be right") {
  Bench bench;
  // A login may take seconds: it may be right all the same.
  bench.hosts[0].clock_ahead_least = -5s;
  bench.hosts[0].clock_ahead_most = 5s;
  bench.hosts[1].clock_ahead_least = 59s;
  bench.hosts[1].clock_ahead_most = 61s;
  bench.hosts[2].clock_ahead_least = -3'600s;
  bench.hosts[2].clock_ahead_most = -3'599s;
  CHECK(bench.found() == Lines{"node02 unfit clock: its clock is 58 s ahead of the others'",
                               "node03 unfit clock: its clock is 59 min 58 s behind the others'"});
  CHECK(clock_text(bench.hosts[0]) == "0 s");
  CHECK(clock_text(bench.hosts[1]) == "+59 s");
  CHECK(clock_text(bench.hosts[2]) == "-59 min 59 s");
}

TEST_CASE("hosts that answer at very different times have clocks that may be the same") {
  Bench bench(64);
  // Each was read when it answered, from 3 s to 9 s after the question.
  for (std::size_t i = 0; i < bench.hosts.size(); ++i) {
    bench.hosts[i].clock_ahead_least = -1ms;
    bench.hosts[i].clock_ahead_most = 3s + i * 100ms;
  }
  CHECK(bench.found().empty());
  // One that is wrong is wrong all the same.
  bench.hosts[7].clock_ahead_least -= 60s;
  bench.hosts[7].clock_ahead_most -= 60s;
  CHECK(bench.found() == Lines{"node08 unfit clock: its clock is 56 s behind the others'"});
}

TEST_CASE("of hosts that all are ahead of this machine, this machine is wrong; of one it is not") {
  Bench bench;
  for (CheckedHost& host : bench.hosts) {
    host.clock_ahead_least = 99s;
    host.clock_ahead_most = 100s;
  }
  CHECK(bench.found().empty());
  bench.hosts.resize(1);
  CHECK(bench.found() == Lines{"node01 unfit clock: its clock is 99 s ahead of the others'"});
}

TEST_CASE("a name that means the host itself, or nothing, is said of several hosts") {
  Bench bench;
  bench[0].name_addresses = {"127.0.1.1", "::1"};
  bench[1].name_addresses.clear();
  bench[1].name_trouble = "it does not resolve";
  bench[2].name_addresses = {"127.0.1.1", "10.0.0.3"};
  CHECK(
      bench.found() ==
      Lines{"node01 fit name: its own name 'node01' means 127.0.1.1 there, which no other host "
            "reaches",
            "node02 fit name: its own name 'node02' means no address there: it does not resolve"});
  bench.hosts.resize(1);
  CHECK(bench.found().empty());
}

TEST_CASE("slots that others hold leave a host fit; what nobody knows does not") {
  Bench bench;
  bench.hosts[0].host.slots = 4;
  LeaseHolder holder{.task = "3f9c", .name = "x"};
  holder.leases = {{{LeaseKey::Kind::place, 1, ""}, lease_units}};
  bench[0].host.holders = {holder};
  bench[1].host.lease_trouble = "no folder";
  bench[2].host.lease_identity = "4";
  CHECK(bench.found() == Lines{"node01 fit slots: 1 of its 4 slots is held",
                               "node02 unknown slots: who holds what is not known: no folder",
                               "node04 unfit slots: it is the same machine as node03"});
}

TEST_CASE("GPUs are held against the hosts file and each other") {
  Bench bench;
  for (std::size_t i = 0; i < 4; ++i) {
    bench.hosts[i].host.slot_type = SlotType::cuda;
    bench.hosts[i].host.slots = 2;
    bench.hosts[i].host.accelerators = 2;
    bench.hosts[i].host.accelerator_type = "H100";
    bench[i].host.gpus.cuda = {0, 1};
    bench[i].host.gpu_type = "H100";
    bench[i].host.driver = "550.1";
  }
  CHECK(bench.found().empty());
  bench[1].host.gpus.cuda = {0};
  bench[2].host.gpu_type = "A100";
  bench[3].host.driver = "535.1";
  CHECK(bench.found() ==
        Lines{"node02 unfit gpus: it shows 1 of the 2 GPUs that the hosts file says",
              "node03 unfit gpus: its GPUs are A100; the hosts file says H100",
              "node03 fit gpus: its GPUs are A100; those of node[01-02,04] are H100",
              "node04 fit driver: NVIDIA's driver is 535.1 here and 550.1 on node[01-03]"});
}

TEST_CASE("what keeps ranks from starting is told with its next step, and what is alike once") {
  Bench bench;
  for (const std::size_t host : {1u, 3u})
    bench[host].problems = {{{}, {}, "program 'python4' was not found", "install it"}};
  const auto shared = shared_findings(judge(bench.hosts));
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].finding.hint == "install it");
  CHECK(shared[0].hosts == std::vector<std::size_t>{1, 3});
}

TEST_CASE("the document says of each host what was found and what it is") {
  Bench bench(2);
  bench.hosts[1].fitness = fail(ErrorClass::host, "connection refused");
  const auto document = nlohmann::json::parse(fitness_document(bench.hosts, judge(bench.hosts)));
  CHECK(document["fitness"] == "unknown");
  CHECK(document["hosts"][0]["fitness"] == "fit");
  CHECK(document["hosts"][0]["facts"]["python"]["packages"]["torch"] == "2.4.0");
  CHECK(document["hosts"][0]["facts"]["slots"] == 8);
  CHECK(document["hosts"][1]["findings"][0]["check"] == "reach");
  CHECK(document["hosts"][1]["facts"].is_null());
}
