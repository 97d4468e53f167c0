// SPDX-License-Identifier: Apache-2.0
#include "backends/fitness/rdma_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "backends/posix/files.hpp"

namespace train {

namespace {

constexpr std::size_t most_names = 256;  // of devices, and of ports of one

std::vector<std::string> sorted_names_in(const std::string& folder) {
  std::vector<std::string> names = names_in(FolderReader(folder), most_names);
  std::sort(names.begin(), names.end());
  return names;
}

// "ACTIVE" for "4: ACTIVE".
std::string state_of(const std::string& line) {
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

}  // namespace

std::vector<RdmaPort> rdma_facts(const NetworkFiles& files) {
  std::vector<RdmaPort> ports;
  const std::string devices = files.sys + "/class/infiniband";
  for (const std::string& device : sorted_names_in(devices)) {
    const std::string folder = fmt::format("{}/{}/ports", devices, device);
    for (const std::string& number : sorted_names_in(folder)) {
      const std::string port = fmt::format("{}/{}", folder, number);
      ports.push_back({fmt::format("{}/{}", device, number),
                       state_of(first_line_of(port + "/state")), first_line_of(port + "/rate"),
                       first_line_of(port + "/link_layer")});
    }
  }
  return ports;
}

}  // namespace train
