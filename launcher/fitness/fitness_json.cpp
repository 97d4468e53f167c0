// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/fitness_json.hpp"

#include <nlohmann/json.hpp>

namespace train {

namespace {

// Keeps the order of fields, which is made for readers.
using Json = nlohmann::ordered_json;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
Json limit_or_null(std::int64_t limit) { return limit < 0 ? Json(nullptr) : Json(limit); }

Json shown(const HostFinding& finding) {
  return {{"check", finding.check},
          {"fitness", to_string(finding.fitness)},
          {"message", finding.message},
          {"hint", text_or_null(finding.hint)}};
}

Json shown(const DiskFacts& disk) {
  return {{"use", disk.use},
          {"path", disk.path},
          {"size", disk.size},
          {"free", disk.free},
          {"free_files", limit_or_null(disk.free_files)},
          {"error", text_or_null(disk.trouble)}};
}

Json shown(const PythonFacts& python) {
  Json packages = Json::object();
  for (const auto& [name, version] : python.packages) packages[name] = version;
  return {{"program", python.program},
          {"version", text_or_null(python.version)},
          {"torch_cuda", text_or_null(python.torch_cuda)},
          {"packages", std::move(packages)}};
}

template <class Value>
Json value_or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json shown(const DeviceFacts& device) {
  Json processes = nullptr;
  if (device.processes) {
    processes = Json::array();
    for (const DeviceProcess& process : *device.processes)
      processes.push_back({{"pid", process.pid}, {"memory", value_or_null(process.used)}});
  }
  Json rows = nullptr;
  if (device.remapped)
    rows = {{"correctable", device.remapped->correctable},
            {"uncorrectable", device.remapped->uncorrectable},
            {"pending", device.remapped->pending},
            {"failed", device.remapped->failed}};
  Json links = nullptr;
  if (device.nvlinks) links = {{"up", device.nvlinks->up}, {"down", device.nvlinks->down}};
  Json peers = nullptr;
  if (device.peers)
    peers = {{"reached", device.peers->reached}, {"not_reached", device.peers->not_reached}};
  Json xid = nullptr;
  if (device.xid) xid = {{"code", device.xid->code}, {"seconds_ago", device.xid->seconds_ago}};
  return {{"index", device.index},
          {"uuid", text_or_null(device.uuid)},
          {"name", text_or_null(device.name)},
          {"pci_bus_id", text_or_null(device.pci_bus_id)},
          {"error", text_or_null(device.trouble)},
          {"memory", value_or_null(device.memory_total)},
          {"memory_free", value_or_null(device.memory_free)},
          {"processes", std::move(processes)},
          {"ecc_uncorrected", value_or_null(device.ecc_uncorrected)},
          {"remapped_rows", std::move(rows)},
          {"clock_reasons", value_or_null(device.clock_reasons)},
          {"mig", value_or_null(device.mig)},
          {"nvlinks", std::move(links)},
          {"peers", std::move(peers)},
          {"recovery_action", value_or_null(device.recovery_action)},
          {"xid", std::move(xid)}};
}

Json facts_of(const CheckedHost& host, const LiveHost& live) {
  if (!host.fitness) return nullptr;
  const HostFitness& fitness = *host.fitness;
  Json disks = Json::array();
  for (const DiskFacts& disk : fitness.disks) disks.push_back(shown(disk));
  Json devices = Json::array();
  for (const DeviceFacts& device : fitness.devices.devices) devices.push_back(shown(device));
  Json ports = Json::array();
  for (const RdmaPort& port : fitness.rdma)
    ports.push_back({{"name", port.name},
                     {"state", text_or_null(port.state)},
                     {"rate", text_or_null(port.rate)},
                     {"layer", text_or_null(port.layer)}});
  Json data = nullptr;
  if (fitness.data)
    data = {{"directory", fitness.data->directory},
            {"bytes", fitness.data->bytes},
            {"took_ns", fitness.data->took.count()},
            {"error", text_or_null(fitness.data->trouble)}};
  const auto count = [&](std::size_t slots) {
    return live.is_known() ? Json(slots) : Json(nullptr);
  };
  return {{"slots", count(live.slots.slots.size())},
          {"free", count(free_slots(live))},
          {"gpus", fitness.host.gpus.count()},
          {"gpu_type", text_or_null(gpu_type_of(live))},
          {"driver", text_or_null(fitness.host.driver)},
          {"cuda", text_or_null(fitness.devices.cuda)},
          {"devices", std::move(devices)},
          {"cpus", fitness.host.cpus},
          {"memory", fitness.host.memory},
          {"memory_available", fitness.host.available},
          {"clock_ahead_ns", {host.clock_ahead_least.count(), host.clock_ahead_most.count()}},
          {"host_name", text_or_null(fitness.name)},
          {"name_addresses", fitness.name_addresses},
          {"disks", std::move(disks)},
          {"memory_lock", limit_or_null(fitness.memory_lock)},
          {"open_files", limit_or_null(fitness.open_files)},
          {"rdma", std::move(ports)},
          {"libibverbs_error", text_or_null(fitness.devices.verbs_trouble)},
          {"data", std::move(data)},
          {"program", text_or_null(fitness.program)},
          {"program_sha256", text_or_null(fitness.program_sha256)},
          {"script", text_or_null(fitness.script)},
          {"script_sha256", text_or_null(fitness.script_sha256)},
          {"python", fitness.python ? shown(*fitness.python) : Json(nullptr)}};
}

Json shown(const LinkCheck& check, const std::vector<CheckedHost>& hosts) {
  const auto name = [&](int rank) { return hosts[check.host_of(rank)].host.name; };
  Json links = Json::array();
  for (const LinkFacts& link : check.links) {
    const bool is_measured = link.trouble.empty();
    const auto figure = [&](auto value) { return is_measured ? Json(value) : Json(nullptr); };
    links.push_back({{"from", name(link.from)},
                     {"to", name(link.to)},
                     {"round_trip_ns", figure(link.round_trip.count())},
                     {"bytes_per_second_there", figure(link.there)},
                     {"bytes_per_second_back", figure(link.back)},
                     {"alone", link.is_alone},
                     {"error", text_or_null(link.trouble)}});
  }
  return links;
}

// A rank of a group; `rank` is its number in the task.
Json shown(const AllReduceRank& each, int rank, const AllReduceCheck& check,
           const std::vector<CheckedHost>& hosts) {
  return {{"host", hosts[check.host_of(rank)].host.name},
          {"gpu", check.gpu_of(rank)},
          {"gpu_name", each.gpu},
          {"cuda", each.cuda},
          {"nccl", each.nccl},
          {"network", text_or_null(each.network)},
          {"bytes_per_second_to_gpu", each.to_device},
          {"bytes_per_second_from_gpu", each.from_device},
          {"wrong_sums", each.wrong}};
}

Json shown(const AllReduceCheck& check, const std::vector<CheckedHost>& hosts) {
  Json groups = Json::array();
  for (const AllReduceGroup& group : check.groups) {
    const auto rank_at = [&](int place) { return group.members[static_cast<std::size_t>(place)]; };
    Json names = Json::array();
    for (const int host : hosts_of(group, check.host_of_rank))
      names.push_back(hosts[check.hosts[static_cast<std::size_t>(host)]].host.name);
    Json times = Json::array();
    for (const AllReduceTime& time : group.report.times)
      times.push_back({{"bytes", time.bytes},
                       {"ns", time.time.count()},
                       {"bus_bytes_per_second", static_cast<std::uint64_t>(bus_bandwidth(
                                                    time.bytes, time.time, group.report.world))}});
    Json ranks = Json::array();
    for (const AllReduceRank& each : group.report.ranks)
      ranks.push_back(shown(each, rank_at(each.rank), check, hosts));
    Json errors = Json::array();
    for (const auto& [place, words] : group.troubles)
      errors.push_back({{"host", hosts[check.host_of(rank_at(place))].host.name},
                        {"gpu", check.gpu_of(rank_at(place))},
                        {"error", words}});
    groups.push_back({{"hosts", std::move(names)},
                      {"gpus", group.members.size()},
                      {"times", std::move(times)},
                      {"ranks", std::move(ranks)},
                      {"errors", std::move(errors)}});
  }
  return groups;
}

}  // namespace

std::string fitness_document(const std::vector<CheckedHost>& hosts,
                             const std::vector<HostFinding>& findings, const LinkCheck* links,
                             const AllReduceCheck* allreduce) {
  const std::vector<LiveHost> live = live_hosts_of(hosts);
  Json all = Json::array();
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    Json found = Json::array();
    for (const HostFinding& finding : findings)
      if (finding.host == i) found.push_back(shown(finding));
    all.push_back({{"name", hosts[i].host.name},
                   {"fitness", to_string(fitness_of(findings, i))},
                   {"findings", std::move(found)},
                   {"facts", facts_of(hosts[i], live[i])}});
  }
  const Json document = {{"fitness", to_string(fitness_of(findings))},
                         {"hosts", std::move(all)},
                         {"links", links != nullptr ? shown(*links, hosts) : Json(nullptr)},
                         {"nccl", allreduce != nullptr ? shown(*allreduce, hosts) : Json(nullptr)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace train
