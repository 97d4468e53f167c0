// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/gpu_fields.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "launcher/frames/json_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr int most = static_cast<int>(most_gpus);

std::vector<int> devices_field(const json& value, const char* name) {
  std::vector<int> devices = int_list_field(value, name, 0, most - 1, most_gpus);
  if (std::set(devices.begin(), devices.end()).size() != devices.size())
    throw Malformed{"a GPU that is counted twice"};
  return devices;
}

}  // namespace

json json_of_gpus(const HostGpus& gpus) {
  return {{"cuda", gpus.cuda},
          {"rocm", gpus.rocm},
          {"split", gpus.split},
          {"hidden", gpus.hidden},
          {"obstacle", static_cast<int>(gpus.obstacle)}};
}

HostGpus gpus_of_json(const json& value) {
  HostGpus gpus;
  gpus.cuda = devices_field(value, "cuda");
  gpus.rocm = devices_field(value, "rocm");
  gpus.split = int_field(value, "split", 0, most);
  gpus.hidden = int_field(value, "hidden", 0, 2 * most);
  gpus.obstacle = static_cast<HostGpus::Obstacle>(
      int_field(value, "obstacle", 0, static_cast<int>(HostGpus::Obstacle::driver_unknown)));
  return gpus;
}

}  // namespace train
