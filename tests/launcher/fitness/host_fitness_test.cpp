// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/host_fitness.hpp"

#include "tests/catch.hpp"

using namespace train;

namespace {

HostFitness whole_fitness() {
  HostFitness fitness;
  fitness.host.cpus = 8;
  fitness.host.driver = "535.54.03";
  fitness.wall_ns = 1'700'000'000'000'000'000;
  fitness.name = "node01";
  fitness.name_addresses = {"10.0.0.1", "fe80::1"};
  fitness.name_trouble = "it does not resolve";
  fitness.disks = {{"temporary files", "/tmp", 1'000, 500, 77, ""},
                   {"home", "/home/\xff", 0, 0, -1, "read-only file system"}};
  fitness.memory_lock = 65'536;
  fitness.open_files = 1'024;
  fitness.rdma = {{"mlx5_0/1", "ACTIVE", "200 Gb/sec (4X HDR)", "InfiniBand"},
                  {"mlx5_1/1", "DOWN", "", ""}};
  fitness.data = DataFacts{"/data", 1'000'000, nanoseconds(2'000'000), ""};
  fitness.devices.driver = "535.54.03";
  fitness.devices.devices.resize(1);
  fitness.devices.devices[0].name = "NVIDIA H100 80GB HBM3";
  fitness.devices.devices[0].xid = LastXid{79, 12};
  fitness.devices_trouble = "it has not ended within 15 s";
  fitness.problems = {{{}, {}, "there is no program", "install it"}};
  fitness.program = "/usr/bin/python3";
  fitness.program_sha256 = std::string(64, 'a');
  fitness.script = "train.py";
  fitness.script_sha256 = std::string(64, 'b');
  fitness.python = PythonFacts{"/usr/bin/python3", "3.11.2", {{"torch", "2.4.0"}}, "12.1", "slow"};
  return fitness;
}

// Without its end of line.
std::string line_of(std::string text) {
  REQUIRE(text.ends_with('\n'));
  text.pop_back();
  REQUIRE(text.find('\n') == text.npos);
  return text;
}

}  // namespace

TEST_CASE("what a host says of its fitness is read as it was said") {
  const HostFitness fitness = whole_fitness();
  const auto read = decode_host_fitness(line_of(encode_host_fitness(fitness)));
  REQUIRE(read);
  CHECK(*read == fitness);
  const auto least = decode_host_fitness(line_of(encode_host_fitness({})));
  REQUIRE(least);
  CHECK(*least == HostFitness());
}

TEST_CASE("what is to be checked is read as it was said, with a rank and without") {
  FitnessRequest request;
  request.data_directory = "/data";
  request.lease_directory = "/var/lock/x";
  const auto without = decode_fitness_request(line_of(encode_fitness_request(request)));
  REQUIRE(without);
  CHECK(*without == request);
  request.ranks = 8;
  request.brings_context = true;
  request.rank.emplace();
  request.rank->entrypoint.argv = {"python3", "train.py"};
  request.rank->working_directory = "/srv";
  request.rank->environment.push_back({"PATH", "/opt/bin"});
  const auto read = decode_fitness_request(line_of(encode_fitness_request(request)));
  REQUIRE(read);
  CHECK(*read == request);
}

TEST_CASE("what a host says is cut to what is read") {
  HostFitness fitness;
  fitness.name = std::string(100'000, 'n');
  fitness.name_addresses.assign(1'000, "10.0.0.1");
  fitness.disks.assign(1'000, DiskFacts{});
  fitness.problems.assign(1'000, Diagnostic{{}, {}, std::string(100'000, 'm'), {}});
  fitness.python.emplace();
  for (int i = 0; i < 1'000; ++i) fitness.python->packages[std::to_string(i)] = "1";
  const auto read = decode_host_fitness(line_of(encode_host_fitness(fitness)));
  REQUIRE(read);
  CHECK(read->name.size() < 5'000);
  CHECK(read->disks.size() < 100);
  CHECK(read->problems.size() < 100);
  CHECK(read->python->packages.size() < 100);
}

TEST_CASE("what is no answer is refused in words: torn, empty, too long, of another kind") {
  const std::string whole = line_of(encode_host_fitness(whole_fitness()));
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), whole.substr(0, whole.size() / 2),
        std::string(longest_host_fitness + 1, 'x')}) {
    const auto read = decode_host_fitness(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().error_class == ErrorClass::host);
    CHECK(read.error().diagnostics.front().message.starts_with(
        "what the host says of its fitness is not understood: "));
  }
  CHECK_FALSE(decode_fitness_request("{}"));
}
