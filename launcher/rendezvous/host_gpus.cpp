// SPDX-License-Identifier: Apache-2.0
#include "launcher/rendezvous/host_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config_schema/hosts/host_set.hpp"
#include "config_schema/resources/tpu_topology.hpp"
#include "launcher/plan/summaries.hpp"

namespace train {
namespace {

// The number of usable devices that the slots need.
std::size_t needed(const Host& host) {
  if (!host.slot_indices.empty()) return static_cast<std::size_t>(host.slot_indices.back()) + 1;
  return static_cast<std::size_t>(slot_count(host).value_or(1));
}

std::string gpus(std::size_t count) {
  return count == 0 ? "no GPU" : counted(fmt::format("{}", count), "GPU");
}

// "4 GPUs", "no GPU but 2 in MIG mode", "2 GPUs (2 more that its sessions may not use)".
std::string found_text(std::size_t count, const HostGpus& found) {
  std::string text = gpus(count);
  if (found.split > 0)
    text += fmt::format(" {} {} in MIG mode, {} no whole {}", count == 0 ? "but" : "and",
                        found.split, found.split == 1 ? "which is" : "which are",
                        found.split == 1 ? "device" : "devices");
  if (found.hidden > 0)
    text += fmt::format(" ({}{} that its sessions may not use)", found.hidden,
                        count + static_cast<std::size_t>(found.split) > 0 ? " more" : "");
  return text;
}

std::string found_text(const HostGpus& found) {
  const bool is_amd = found.cuda.empty() && found.split == 0 && !found.rocm.empty();
  return found_text(is_amd ? found.rocm.size() : found.cuda.size(), found);
}

Diagnostic diagnostic(std::string message, std::string hint) {
  return {{}, {}, std::move(message), std::move(hint)};
}

Diagnostic not_counted(HostGpus::Obstacle obstacle) {
  const char* why = "its GPUs are of a kind that only their driver can count";
  if (obstacle == HostGpus::Obstacle::mig_in_session)
    why = "CUDA_VISIBLE_DEVICES of its sessions names MIG devices, which are no whole GPUs";
  if (obstacle == HostGpus::Obstacle::uuids_not_shown)
    why = "CUDA_VISIBLE_DEVICES of its sessions names GPUs by UUIDs that its driver does not show";
  return diagnostic(fmt::format("it is not known what its slots are: {}", why),
                    "say it in a hosts file: 'slot_type: cuda', or 'slot_type: cpu' for places "
                    "without GPUs");
}

Diagnostic too_few(std::size_t slots, std::size_t count, const std::string& has) {
  const std::string both = "'slot_type: cpu' in a hosts file makes its slots places without GPUs";
  return diagnostic(
      fmt::format("says {} and has {}", counted(fmt::format("{}", slots), "slot"), has),
      count == 0 ? "end MIG mode ('nvidia-smi -mig 0'), or leave it: " + both
                 : fmt::format("'slots: {}' takes them alone, {}", count, both));
}

// The meaning of the slots of a queried host; nothing: it has some GPUs, but too few.
std::optional<SlotMeaning> meaning_on(const Host& host, const HostGpus& found) {
  if (!found.cuda.empty() || found.split > 0)
    return found.cuda.size() >= needed(host) ? std::optional(SlotMeaning::cuda) : std::nullopt;
  if (!found.rocm.empty())
    return found.rocm.size() >= needed(host) ? std::optional(SlotMeaning::rocm) : std::nullopt;
  return SlotMeaning::places;
}

std::optional<Diagnostic> obstacle_to_asked(const PlannedHost& host, CollectiveBackend backend,
                                            const HostGpus& found) {
  if (found.obstacle != HostGpus::Obstacle::none) return not_counted(found.obstacle);
  const auto meaning = meaning_on(host.host, found);
  if (!meaning) return too_few(needed(host.host), found.count(), found_text(found));
  const bool must_be_gpus = host.slots_are_gpus || backend == CollectiveBackend::nccl;
  if (*meaning != SlotMeaning::places || !must_be_gpus) return std::nullopt;
  return diagnostic(
      fmt::format(
          "its {} to be {}, and it has {}",
          needed(host.host) == 1 ? "slot is" : fmt::format("{} slots are", needed(host.host)),
          needed(host.host) == 1 ? "a GPU" : "GPUs", found_text(found)),
      host.slots_are_gpus ? "leave it out (--exclude), or ask for workers without GPUs"
                          : "leave it out (--exclude), or write 'backend: auto'");
}

bool is_counted_by_agents(const Host& host) {
  const AcceleratorMaker maker = maker_of_devices(host);
  return host.device_indices.empty() && !is_tpu_type(host.accelerator_type) &&
         (maker == AcceleratorMaker::nvidia || maker == AcceleratorMaker::amd);
}

std::optional<Diagnostic> obstacle_to_known(const PlannedHost& host, const HostGpus& found) {
  if (!host.slots_are_gpus || !is_counted_by_agents(host.host)) return std::nullopt;
  if (found.obstacle != HostGpus::Obstacle::none) return std::nullopt;
  const bool is_amd = maker_of_devices(host.host) == AcceleratorMaker::amd;
  const std::vector<int>& there = is_amd ? found.rocm : found.cuda;
  const std::vector<int> given = devices_of(host.host, host.slots);
  const bool are_all_there = std::all_of(given.begin(), given.end(), [&](int device) {
    return std::find(there.begin(), there.end(), device) != there.end();
  });
  if (are_all_there) return std::nullopt;
  const auto declared = static_cast<std::size_t>(host.host.accelerators.value_or(1));
  if (there.size() < declared)
    return diagnostic(fmt::format("declares {}{}, and has {}", is_amd ? "AMD's " : "",
                                  gpus(declared), found_text(there.size(), found)),
                      "correct 'resources.GPU', 'slots' or 'slot_type' in the hosts file, or see "
                      "there why its driver does not show them");
  return diagnostic(
      fmt::format("its ranks are to get its GPUs {}, and its sessions may use {}",
                  fold_ranks(given), fmt::join(there, ",")),
      fmt::format("say 'slots: {}' and nothing of GPUs: ranks then get those", there.size()));
}

// For a message: the declared or detected meaning of the slots of each host.
std::vector<HostAmount> amounts_of(const Trial& trial, const std::vector<HostGpus>& found) {
  std::vector<HostAmount> amounts;
  for (std::size_t i = 0; i < trial.hosts.size(); ++i) {
    const PlannedHost& host = trial.hosts[i];
    std::string amount = host.slots_are_gpus ? "GPUs" : "places";
    if (host.devices_at_launch) amount = found_text(found[i]);
    const bool is_amd = host.devices_at_launch && found[i].cuda.empty() && !found[i].rocm.empty();
    amounts.push_back({host.host.name, is_amd ? "AMD's " + amount : amount});
  }
  return amounts;
}

// For slots that were known before; nothing for devices of other makers, which equal none of the
// meanings.
std::optional<SlotMeaning> meaning_of_known(const PlannedHost& host) {
  if (!host.slots_are_gpus) return SlotMeaning::places;
  const AcceleratorMaker maker = maker_of_devices(host.host);
  if (maker == AcceleratorMaker::nvidia && !is_tpu_type(host.host.accelerator_type))
    return SlotMeaning::cuda;
  return maker == AcceleratorMaker::amd ? std::optional(SlotMeaning::rocm) : std::nullopt;
}

}  // namespace

int needed_gpus(const Host& host) { return static_cast<int>(needed(host)); }

std::optional<Diagnostic> gpu_obstacle(const PlannedHost& host, CollectiveBackend backend,
                                       const HostGpus& found) {
  return host.devices_at_launch ? obstacle_to_asked(host, backend, found)
                                : obstacle_to_known(host, found);
}

Result<std::optional<SlotMeaning>> slot_meaning(const Trial& trial,
                                                const std::vector<HostGpus>& found) {
  std::optional<SlotMeaning> asked;
  for (std::size_t i = 0; i < trial.hosts.size() && !asked; ++i)
    if (trial.hosts[i].devices_at_launch) asked = meaning_on(trial.hosts[i].host, found[i]);
  if (!asked) return std::nullopt;
  for (std::size_t i = 0; i < trial.hosts.size(); ++i) {
    const PlannedHost& host = trial.hosts[i];
    const auto meaning =
        host.devices_at_launch ? meaning_on(host.host, found[i]) : meaning_of_known(host);
    if (meaning == asked) continue;
    return fail(ErrorClass::host,
                fmt::format("slots are to be the same on all hosts of a trial, GPUs or places, and "
                            "these differ: {}",
                            list_amounts(amounts_of(trial, found))),
                "leave hosts out (--exclude), or say in a hosts file what their slots are: "
                "'slot_type: cuda', or 'slot_type: cpu' for places without GPUs");
  }
  return asked;
}

std::optional<Diagnostic> too_few_gpus(const Host& host) {
  if (!host.too_few_gpus || static_cast<std::size_t>(*host.too_few_gpus) >= needed(host))
    return std::nullopt;
  const auto count = static_cast<std::size_t>(*host.too_few_gpus);
  return too_few(needed(host), count, gpus(count));
}

}  // namespace train
