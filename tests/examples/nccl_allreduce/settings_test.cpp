// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/settings.hpp"

#include <map>

#include "tests/catch.hpp"

namespace nccl_allreduce {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Settings> read(const std::vector<std::string>& flags, const Variables& variables = {}) {
  return read_settings(flags, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string trouble_of(const std::vector<std::string>& flags, const Variables& variables = {}) {
  const auto settings = read(flags, variables);
  REQUIRE_FALSE(settings);
  CHECK(settings.failure().code == ExitCode::usage);
  return settings.failure().message;
}

const Variables launched{{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "4"},
                         {"MASTER_PORT", "29500"},
                         {"MASTER_ADDR", "192.0.2.7"},
                         {"TORCHELASTIC_RUN_ID", "k3wq"},
                         {"TORCHELASTIC_RESTART_COUNT", "2"},
                         {"TRAIN_METRICS_FILE", "/run/metrics"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

int device(const Variables& variables, int visible) {
  auto settings = read({}, variables);
  REQUIRE(settings);
  auto found = device_of(*settings, visible);
  REQUIRE(found);
  return *found;
}

std::string device_trouble(const Variables& variables, int visible) {
  auto settings = read({}, variables);
  REQUIRE(settings);
  const auto found = device_of(*settings, visible);
  REQUIRE_FALSE(found);
  CHECK(found.failure().code == ExitCode::unavailable);
  return found.failure().message;
}

TEST_CASE("without a launcher the program is the only rank") {
  auto settings = read({});
  REQUIRE(settings);
  CHECK(settings->rank == 0);
  CHECK(settings->world_size == 1);
  CHECK(settings->sizes == SizeLadder{8, 1 << 30, 2});
  CHECK(settings->library == "libnccl.so.2");
  CHECK_FALSE(settings->visible_devices);
}

TEST_CASE("what a launcher says is read") {
  auto settings = read({}, launched);
  REQUIRE(settings);
  CHECK(settings->rank == 5);
  CHECK(settings->world_size == 8);
  CHECK(settings->local_rank == 1);
  CHECK(settings->local_world_size == 4);
  CHECK(settings->master_address == "192.0.2.7");
  CHECK(settings->master_port == 29500);
  CHECK(settings->job == "k3wq/2");
  CHECK(settings->metrics_file == "/run/metrics");
}

TEST_CASE("flags have their values behind an equals sign or as the next word") {
  auto settings = read({"--min=1K", "--max", "2M", "--factor=4", "--iterations", "3", "--timeout=7",
                        "--nccl", "a.so"});
  REQUIRE(settings);
  CHECK(settings->sizes == SizeLadder{1024, 2 << 20, 4});
  CHECK(settings->iterations == 3);
  CHECK(settings->timeout == std::chrono::seconds(7));
  CHECK(settings->library == "a.so");
}

TEST_CASE("flags that make no sense are refused with what they may be") {
  CHECK(trouble_of({"--factor=1"}) ==
        "--factor is '1', and must be a number from 2 to 8; see --help");
  CHECK(trouble_of({"--factor", "9"}).find("from 2 to 8") != std::string::npos);
  CHECK(trouble_of({"--min", "2G"}) == "--min is more than --max; see --help");
  CHECK(trouble_of({"--max"}) == "'--max' is no flag, or lacks its value; see --help");
  CHECK(trouble_of({"--sizes=3"}) == "there is no flag '--sizes'; see --help");
  for (const char* bytes :
       {"", "K", "3", "-8", "8 ", "8k", "0x10", "1T", "99999999999999999999", "1025G", "8KK"})
    CHECK(trouble_of({"--max", bytes}).find("--max is '" + std::string(bytes) + "'") == 0);
}

TEST_CASE("everything that is wrong is named at once") {
  CHECK(trouble_of({"--factor=9", "--iterations=0"},
                   with(with(launched, "RANK", "8"), "MASTER_PORT", "70000")) ==
        "--factor is '9', and must be a number from 2 to 8; --iterations is '0', and must be a "
        "number from 1 to 1000; "
        "RANK is '8', and must be a number from 0 to 7; MASTER_PORT is '70000', and must be a "
        "number from 1 to 65535; "
        "see --help");
}

TEST_CASE("several ranks need to know who they are and where rank 0 is") {
  const std::string trouble = trouble_of({}, {{"WORLD_SIZE", "2"}});
  CHECK(trouble.find("MASTER_ADDR is not set") != std::string::npos);
  CHECK(trouble.find("MASTER_PORT is ''") != std::string::npos);
  CHECK(trouble.find("RANK is not set") != std::string::npos);
  CHECK(trouble_of({}, with(launched, "WORLD_SIZE", "0")).find("WORLD_SIZE is '0'") == 0);
  CHECK(trouble_of({}, with(launched, "LOCAL_RANK", "4")).find("LOCAL_RANK is '4'") == 0);
}

TEST_CASE("--help needs nothing else to be right") {
  auto settings = read({"--help"}, {{"WORLD_SIZE", "2"}});
  REQUIRE(settings);
  CHECK(settings->help);
}

TEST_CASE("the GPU is the one that train names, else the one at LOCAL_RANK") {
  CHECK(device(with(launched, "TRAIN_DEVICE_INDICES", "3"), 4) == 3);
  CHECK(device(with(launched, "TRAIN_DEVICE_INDICES", "2,3"), 4) == 2);
  CHECK(device(launched, 4) == 1);
  CHECK(device({}, 1) == 0);
}

TEST_CASE("a GPU that a launcher has made visible alone is the rank's") {
  CHECK(device(with(launched, "CUDA_VISIBLE_DEVICES", "3"), 1) == 0);
  CHECK(device(with(launched, "CUDA_VISIBLE_DEVICES", "GPU-8932f937"), 1) == 0);
}

TEST_CASE("a GPU that is not there is named with what is") {
  CHECK(device_trouble(
            with(with(launched, "TRAIN_DEVICE_INDICES", "3"), "CUDA_VISIBLE_DEVICES", "0,1"), 2)
            .find("TRAIN_DEVICE_INDICES says GPU 3 of 2 visible (CUDA_VISIBLE_DEVICES=0,1): ") ==
        0);
  CHECK(device_trouble(launched, 1).find("LOCAL_RANK is 1, and the GPUs are 1 visible: ") == 0);
  CHECK(device_trouble(with(launched, "CUDA_VISIBLE_DEVICES", "0,9"), 1).find("LOCAL_RANK is 1") ==
        0);
  CHECK(trouble_of({}, with(launched, "TRAIN_DEVICE_INDICES", "x"))
            .find("TRAIN_DEVICE_INDICES is 'x'") == 0);
}

}  // namespace
}  // namespace nccl_allreduce
