// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/host_fitness.hpp"

#include <nlohmann/json.hpp>

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/frames/json_fields.hpp"
#include "launcher/wire/message_limits.hpp"
#include "launcher/wire/rank_commands.hpp"

namespace train {

using nlohmann::json;

namespace {

constexpr std::size_t longest_text = 4'096;
constexpr std::size_t most_addresses = 32;
constexpr std::size_t most_disks = 16;
constexpr std::size_t most_told_problems = 64;
constexpr std::size_t most_packages = 64;
constexpr std::size_t most_rdma_ports = 256;

json short_text(const std::string& text) { return from_bytes(cut_to_json(text, longest_text)); }

std::string text_of(const json& object, const char* name) {
  return text_field(object, name, longest_text);
}

json json_of_disk(const DiskFacts& disk) {
  return {{"use", short_text(disk.use)},
          {"path", short_text(disk.path)},
          {"size", disk.size},
          {"free", disk.free},
          {"free_files", disk.free_files},
          {"trouble", short_text(disk.trouble)}};
}

DiskFacts disk_of(const json& value) {
  DiskFacts disk;
  disk.use = text_of(value, "use");
  disk.path = text_of(value, "path");
  disk.size = bytes_field(value, "size");
  disk.free = bytes_field(value, "free");
  disk.free_files = number_field(value, "free_files", -1);
  disk.trouble = text_of(value, "trouble");
  return disk;
}

json json_of_python(const PythonFacts& python) {
  json packages = json::array();
  for (const auto& [name, version] : python.packages)
    if (packages.size() < most_packages)
      packages.push_back({{"name", short_text(name)}, {"version", short_text(version)}});
  return {{"program", short_text(python.program)},
          {"version", short_text(python.version)},
          {"packages", std::move(packages)},
          {"torch_cuda", short_text(python.torch_cuda)},
          {"trouble", short_text(python.trouble)}};
}

PythonFacts python_of(const json& value) {
  PythonFacts python;
  python.program = text_of(value, "program");
  python.version = text_of(value, "version");
  for (const json& package : array_field(value, "packages", most_packages))
    python.packages[text_of(package, "name")] = text_of(package, "version");
  python.torch_cuda = text_of(value, "torch_cuda");
  python.trouble = text_of(value, "trouble");
  return python;
}

json json_of_port(const RdmaPort& port) {
  return {{"name", short_text(port.name)},
          {"state", short_text(port.state)},
          {"rate", short_text(port.rate)},
          {"layer", short_text(port.layer)}};
}

RdmaPort port_of(const json& value) {
  return {text_of(value, "name"), text_of(value, "state"), text_of(value, "rate"),
          text_of(value, "layer")};
}

json json_of_data(const DataFacts& data) {
  return {{"directory", short_text(data.directory)},
          {"bytes", data.bytes},
          {"took_ns", data.took.count()},
          {"trouble", short_text(data.trouble)}};
}

DataFacts data_of(const json& value) {
  return {text_of(value, "directory"), bytes_field(value, "bytes"),
          nanoseconds(number_field(value, "took_ns")), text_of(value, "trouble")};
}

FitnessRequest request_of(const json& value) {
  FitnessRequest request;
  request.lease_directory = text_field(value, "lease_directory", longest_lease_directory);
  request.ranks = int_field(value, "ranks");
  request.brings_context = bool_field(value, "brings_context");
  request.data_directory = text_field(value, "data_directory", longest_data_directory);
  std::vector<RankCommand> ranks = ranks_of_json(field(value, "rank"));
  if (ranks.size() > 1) throw Malformed{"more than one rank"};
  if (!ranks.empty()) request.rank = std::move(ranks.front());
  return request;
}

HostFitness host_fitness_of(const json& value) {
  HostFitness fitness;
  fitness.host = host_report_of(field(value, "host"));
  fitness.wall_ns = number_field(value, "wall_ns");
  fitness.name = text_of(value, "name");
  for (const json& address : array_field(value, "name_addresses", most_addresses))
    fitness.name_addresses.push_back(to_bytes(address));
  fitness.name_trouble = text_of(value, "name_trouble");
  for (const json& disk : array_field(value, "disks", most_disks))
    fitness.disks.push_back(disk_of(disk));
  fitness.memory_lock = number_field(value, "memory_lock", -1);
  fitness.open_files = number_field(value, "open_files", -1);
  for (const json& port : array_field(value, "rdma", most_rdma_ports))
    fitness.rdma.push_back(port_of(port));
  if (const json& data = field(value, "data"); !data.is_null()) fitness.data = data_of(data);
  fitness.devices = device_report_of(field(value, "devices"));
  fitness.devices_trouble = text_of(value, "devices_trouble");
  for (const json& problem : array_field(value, "problems", most_told_problems))
    fitness.problems.push_back({{}, {}, text_of(problem, "message"), text_of(problem, "hint")});
  fitness.program = text_of(value, "program");
  fitness.program_sha256 = text_of(value, "program_sha256");
  fitness.script = text_of(value, "script");
  fitness.script_sha256 = text_of(value, "script_sha256");
  if (const json& python = field(value, "python"); !python.is_null())
    fitness.python = python_of(python);
  return fitness;
}

}  // namespace

std::uint64_t DataFacts::pace() const {
  const double seconds = std::chrono::duration<double>(took).count();
  return seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds) : 0;
}

std::string encode_fitness_request(const FitnessRequest& request) {
  std::vector<RankCommand> ranks;
  if (request.rank) ranks.push_back(*request.rank);
  const json value = {{"lease_directory", from_bytes(request.lease_directory)},
                      {"ranks", request.ranks},
                      {"brings_context", request.brings_context},
                      {"data_directory", from_bytes(request.data_directory)},
                      {"rank", json_of_ranks(ranks)}};
  return value.dump() + "\n";
}

Result<FitnessRequest> decode_fitness_request(std::string_view line) {
  return decode_document<FitnessRequest>(line, longest_fitness_request,
                                         "what is to be checked is not understood", request_of);
}

std::string encode_host_fitness(const HostFitness& fitness) {
  json addresses = json::array();
  for (const std::string& address : fitness.name_addresses)
    if (addresses.size() < most_addresses) addresses.push_back(short_text(address));
  json disks = json::array();
  for (const DiskFacts& disk : fitness.disks)
    if (disks.size() < most_disks) disks.push_back(json_of_disk(disk));
  json problems = json::array();
  for (const Diagnostic& problem : fitness.problems)
    if (problems.size() < most_told_problems)
      problems.push_back(
          {{"message", short_text(problem.message)}, {"hint", short_text(problem.hint)}});
  json ports = json::array();
  for (const RdmaPort& port : fitness.rdma)
    if (ports.size() < most_rdma_ports) ports.push_back(json_of_port(port));
  const json value = {{"host", json_of(fitness.host)},
                      {"wall_ns", fitness.wall_ns},
                      {"name", short_text(fitness.name)},
                      {"name_addresses", std::move(addresses)},
                      {"name_trouble", short_text(fitness.name_trouble)},
                      {"disks", std::move(disks)},
                      {"memory_lock", fitness.memory_lock},
                      {"open_files", fitness.open_files},
                      {"rdma", std::move(ports)},
                      {"data", fitness.data ? json_of_data(*fitness.data) : json(nullptr)},
                      {"devices", json_of(fitness.devices)},
                      {"devices_trouble", short_text(fitness.devices_trouble)},
                      {"problems", std::move(problems)},
                      {"program", short_text(fitness.program)},
                      {"program_sha256", short_text(fitness.program_sha256)},
                      {"script", short_text(fitness.script)},
                      {"script_sha256", short_text(fitness.script_sha256)},
                      {"python", fitness.python ? json_of_python(*fitness.python) : json(nullptr)}};
  return value.dump() + "\n";
}

Result<HostFitness> decode_host_fitness(std::string_view line) {
  return decode_document<HostFitness>(line, longest_host_fitness,
                                      "what the host says of its fitness is not understood",
                                      host_fitness_of);
}

}  // namespace train
