// SPDX-License-Identifier: Apache-2.0
#include "launcher/task/task_request.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"

using namespace train;

namespace {

TaskRequest full_request() {
  TaskRequest request;
  request.config = "experiment.yaml";
  request.experiment_text = "entrypoint: x\nenvironment: {TOKEN: s3cret}\n# \xff\n";
  request.overrides = {3,
                       96,
                       "2h",
                       {"max_restarts=2", "a=\xfe"},
                       {{"A", "1", {}}, {"B", std::nullopt, {}}},
                       {"python3", "", "it's"}};
  request.inventory.source = "hosts.yaml";
  Host host;
  host.name = "gpu-a";
  host.address = "10.0.0.1";
  host.user = "worker";
  host.port = 2222;
  host.identity_file = "keys/id";
  host.transport = TransportKind::command;
  host.command = {"rsh", "\xff {host}"};
  host.slots = 8;
  host.slot_type = SlotType::cuda;
  host.accelerator_type = "A100";
  host.accelerators = 8;
  host.too_few_gpus = 3;
  host.cpus = Quantity::from_double(0.3);
  host.memory = std::uint64_t{1} << 40;
  host.custom["licence"] = *Quantity::from_double(1.0001);
  host.labels["zone"] = "a";
  host.pool = "big";
  host.slice = "s";
  host.weight = 1.1;
  host.device_indices = {3, 1};
  host.slot_indices = {0, 5};
  host.interface = "eth1";
  host.lease_directory = "/srv/our locks";
  host.env["HOST_ONLY"] = "\x01\xff";
  request.inventory.hosts = {host, {}};
  request.inventory.hosts.back().name = "b";
  request.user_variables.forwarded = {{"PATH", "/bin", AtLaunch::no, false, true}};
  request.user_variables.of_experiment = {{"TOKEN", "s3cret", AtLaunch::no, true, false}};
  request.context_directory = "src";
  request.directory = "/home/a b";
  request.is_detached = true;
  request.is_strict = true;
  HostUse use{.host = "gpu-a", .holder = {}, .slots = {{2, *Quantity::from_double(0.25)}}};
  use.cpus = Quantity::of(3);
  use.memory = std::uint64_t{1} << 40;
  use.custom["licence"] = Quantity::of(1);
  request.occupancy = {use};
  return request;
}

}  // namespace

TEST_CASE("what a task was asked for comes back as it was, byte for byte") {
  const TaskRequest request = full_request();
  const auto back = decode_request(encode_request(request));
  REQUIRE(back);
  CHECK(back->config == request.config);
  CHECK(back->experiment_text == request.experiment_text);
  CHECK(back->overrides.slots == request.overrides.slots);
  CHECK(back->overrides.global_batch == request.overrides.global_batch);
  CHECK(back->overrides.max_runtime == request.overrides.max_runtime);
  CHECK(back->overrides.settings == request.overrides.settings);
  CHECK(back->overrides.command == request.overrides.command);
  CHECK(back->inventory.source == request.inventory.source);
  CHECK(back->inventory.hosts == request.inventory.hosts);
  CHECK(back->user_variables == request.user_variables);
  CHECK(back->context_directory == request.context_directory);
  CHECK(back->directory == request.directory);
  CHECK(back->is_detached);
  CHECK(back->is_strict);
  CHECK(back->occupancy == request.occupancy);
  CHECK(encode_request(*back) == encode_request(request));
}

TEST_CASE("of a command: the ranks that all slots of its hosts made") {
  TaskRequest request = full_request();
  request.overrides.workers = 12;
  CHECK(decode_request(encode_request(request))->overrides.workers == 12);
  request.overrides.workers.reset();
  CHECK_FALSE(decode_request(encode_request(request))->overrides.workers);
}

TEST_CASE("any beginning of it is refused, and so is what it cannot be") {
  const std::string text = encode_request(full_request());
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    REQUIRE_FALSE(decode_request(std::string_view(text).substr(0, size)));
  for (const char* other : {"{}", "[]", "7", "null", R"({"config":7})"}) {
    CAPTURE(other);
    const auto refused = decode_request(other);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().error_class == ErrorClass::no_input);
  }
}

TEST_CASE("nothing in place of a list is refused") {
  for (const char* name : {"custom", "labels", "env", "device_indices"}) {
    CAPTURE(name);
    nlohmann::json request = nlohmann::json::parse(encode_request(full_request()));
    REQUIRE(decode_request(request.dump()));
    request["hosts"][0][name] = nullptr;
    CHECK_FALSE(decode_request(request.dump()));
  }
}
