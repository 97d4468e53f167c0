// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/probed_hosts.hpp"

#include <fmt/format.h>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

// "503GiB", rounded down, since the rest cannot be used.
std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t mib = 1u << 20;
  constexpr std::uint64_t gib = 1u << 30;
  return bytes >= gib ? fmt::format("{}GiB", bytes / gib) : fmt::format("{}MiB", bytes / mib);
}

std::string slots_of(const LiveHost& host) {
  const HostReport& report = *host.report;
  const bool is_cuda = !report.gpus.cuda.empty();
  const std::size_t gpus = is_cuda ? report.gpus.cuda.size() : report.gpus.rocm.size();
  if (gpus == 0) return fmt::format("    slots: {}\n    slot_type: cpu\n", report.cpus);
  std::string text =
      fmt::format("    slots: {}\n    slot_type: {}\n", gpus, is_cuda ? "cuda" : "rocm");
  if (is_cuda && !report.gpu_type.empty())
    text += fmt::format("    accelerator_type: {}\n", json_quoted(report.gpu_type));
  return text;
}

// All keys of a host except its name.
std::string keys_of(const LiveHost& host) {
  std::string text;
  if (!host.host.user.empty()) text += fmt::format("    user: {}\n", json_quoted(host.host.user));
  const TransportKind transport = host.host.transport;
  if (transport != TransportKind::automatic && transport != TransportKind::local)
    text += fmt::format("    transport: {}\n", transport_yaml(host.host));
  text += slots_of(host);
  text += fmt::format("    resources: {{CPU: {}", host.report->cpus);
  if (host.report->memory > 0) text += ", memory: " + memory_text(host.report->memory);
  return text + "}\n";
}

std::string comment_of(const LiveHost& host) {
  if (!host.report)
    return fmt::format("# {} does not answer: {}\n", escaped(host.host.name),
                       escaped(in_one_line(host.report.error())));
  std::string text;
  if (!host.same_as.empty())
    text += fmt::format("# {} is the same machine as {}\n", escaped(host.host.name),
                        escaped(host.same_as));
  const HostGpus& gpus = host.report->gpus;
  if (gpus.split > 0)
    text += fmt::format("# {}: {} GPUs in MIG mode are not counted\n", escaped(host.host.name),
                        gpus.split);
  if (gpus.hidden > 0)
    text += fmt::format("# {}: {} GPUs that its session may not use are not counted\n",
                        escaped(host.host.name), gpus.hidden);
  return text;
}

}  // namespace

std::string probed_hosts_file(const std::vector<LiveHost>& hosts) {
  std::string comments = "# What 'train hosts probe' was told by these hosts.\n";
  std::string entries;
  std::vector<std::string> names;  // adjacent hosts with the same keys
  std::string keys;
  const auto add = [&] {
    if (names.empty()) return;
    entries += fmt::format("  - name: {}\n{}", json_quoted(fold_hosts(names)), keys);
    names.clear();
  };
  for (const LiveHost& host : hosts) {
    comments += comment_of(host);
    if (!host.report) continue;
    const std::string own = keys_of(host);
    if (own != keys) add();
    keys = own;
    names.push_back(host.host.name);
  }
  add();
  return comments + "hosts:\n" + entries;
}

}  // namespace train
