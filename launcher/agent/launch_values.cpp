// SPDX-License-Identifier: Apache-2.0
// Values that are known only at launch, filled in where the ranks start.
#include "launcher/agent/launch_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <climits>

#include "config_schema/hosts/host_address.hpp"
#include "config_schema/text/text.hpp"
#include "launcher/rendezvous/tensorflow_config.hpp"

namespace train {

namespace {

// Maps slots "0,1" to devices "2,3". A slot without a device is skipped: the supervisor knew the
// number of devices when it sent Go.
std::string devices_of_slots(std::string_view slots, const std::vector<int>& devices) {
  std::string text;
  for (const std::string_view each : split(slots, ',')) {
    std::size_t slot = devices.size();
    std::from_chars(each.data(), each.data() + each.size(), slot);
    if (slot < devices.size()) text += fmt::format("{}{}", text.empty() ? "" : ",", devices[slot]);
  }
  return text;
}

// The network choice for the host of this rank; null: there is none.
const message::NetworkChoice* network_of(const message::Go& go, int rank) {
  const message::NetworkChoice* found = nullptr;
  for (const message::NetworkChoice& each : go.networks)
    if (each.first_rank <= rank) found = &each;
  return found != nullptr && found->interface.empty() ? nullptr : found;
}

// Nothing for a single worker that has, as far as known, the whole host.
std::optional<std::string> threads_of_worker(int threads, std::string_view workers_text) {
  const int workers = whole_number(workers_text, 1, INT_MAX).value_or(1);
  if (threads == 0 && workers == 1) return std::nullopt;
  return std::to_string(std::max(1, threads / workers));
}

// Nothing if the variable is not to be set.
std::optional<std::string> at_launch_value(const EnvironmentEntry& entry, const message::Go& go,
                                           const std::string& task_id,
                                           const std::string& run_directory, int rank,
                                           const HostGpus& gpus, int threads) {
  const SlotMeaning slots = go.slots.value_or(SlotMeaning::places);
  switch (entry.at_launch) {
    case AtLaunch::no:
    case AtLaunch::hyperparameters:  // the supervisor fills these in before it sends anything
    case AtLaunch::checkpoint_directory:
      break;
    case AtLaunch::task_id:
      return task_id;
    case AtLaunch::rendezvous_address:
      return go.rendezvous_address;
    case AtLaunch::rendezvous_port:
      return std::to_string(go.rendezvous_port);
    case AtLaunch::rendezvous_host:
      return in_brackets(go.rendezvous_address);
    case AtLaunch::rendezvous_endpoint:
      return endpoint_text(go.rendezvous_address, go.rendezvous_port);
    case AtLaunch::megascale_address:
      return go.megascale_address;
    case AtLaunch::megascale_port:
      return std::to_string(go.megascale_port);
    case AtLaunch::tensorflow_cluster:
      return tensorflow_config(go.workers, rank);
    case AtLaunch::run_directory:
      return run_directory;
    case AtLaunch::error_file:
      return fmt::format("{}/{}", run_directory, error_file_name(rank));
    case AtLaunch::metrics_file:
      return fmt::format("{}/{}", run_directory, metrics_file_name(rank));
    case AtLaunch::heartbeat_file:
      return fmt::format("{}/{}", run_directory, heartbeat_file_name(rank));
    case AtLaunch::stop_file:
      return fmt::format("{}/{}", run_directory, stop_file_name(go.of.attempt));
    case AtLaunch::hyperparameters_file:
      return fmt::format("{}/{}", run_directory, hyperparameters_file_name);
    case AtLaunch::data_file:
      return fmt::format("{}/{}", run_directory, data_file_name);
    case AtLaunch::cuda_devices:
      if (slots == SlotMeaning::rocm) return std::nullopt;
      return slots == SlotMeaning::places ? "" : devices_of_slots(entry.text, gpus.cuda);
    case AtLaunch::rocm_devices:
      if (slots != SlotMeaning::rocm) return std::nullopt;
      return devices_of_slots(entry.text, gpus.rocm);
    case AtLaunch::device_positions:
      if (slots == SlotMeaning::places) return std::nullopt;
      return entry.text;
    case AtLaunch::network_interface: {
      const message::NetworkChoice* const network = network_of(go, rank);
      if (network == nullptr) return std::nullopt;
      return network->interface;
    }
    // NCCL takes a name after '=' as a whole name, and otherwise as a prefix.
    case AtLaunch::nccl_interface: {
      const message::NetworkChoice* const network = network_of(go, rank);
      if (network == nullptr || !network->is_best) return std::nullopt;
      return "=" + network->interface;
    }
    case AtLaunch::threads:
      return threads_of_worker(threads, entry.text);
    case AtLaunch::backend:
      return slots == SlotMeaning::places ? "gloo" : "nccl";
  }
  return "";
}

}  // namespace

std::string metrics_file_name(int rank) { return fmt::format("metrics-{}.jsonl", rank); }

std::string heartbeat_file_name(int rank) { return fmt::format("heartbeat-{}", rank); }

std::string stop_file_name(int attempt) { return fmt::format("stop-{}", attempt); }

std::string error_file_name(int rank) { return fmt::format("error-{}.json", rank); }

std::string words_of(const std::vector<RankCommand>& ranks, int rank) {
  for (const RankCommand& each : ranks) {
    if (each.rank != rank) continue;
    const Entrypoint& entrypoint = each.entrypoint;
    return entrypoint.argv.empty() ? entrypoint.shell
                                   : fmt::format("{}", fmt::join(entrypoint.argv, " "));
  }
  return {};
}

std::vector<EnvironmentEntry> fill_in(std::vector<EnvironmentEntry> environment,
                                      const message::Go& go, const std::string& task_id,
                                      const std::string& run_directory, int rank,
                                      const HostGpus& gpus, int threads) {
  std::vector<EnvironmentEntry> complete;
  complete.reserve(environment.size());
  for (auto& entry : environment) {
    if (entry.at_launch != AtLaunch::no) {
      auto value = at_launch_value(entry, go, task_id, run_directory, rank, gpus, threads);
      if (!value) continue;
      entry.text = std::move(*value);
      entry.at_launch = AtLaunch::no;
    }
    complete.push_back(std::move(entry));
  }
  return complete;
}

}  // namespace train
