// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/host_fitness.hpp"

#include "config_schema/hosts/host_inventory.hpp"
#include "launcher/frames/fields.hpp"
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

using Packages = std::map<std::string, std::string>;

json json_of_packages(const Packages& packages) {
  const auto word = [](const std::string& text) {
    return from_bytes(cut_to_json(text, longest_text));
  };
  json list = json::array();
  for (const auto& [name, version] : packages)
    if (list.size() < most_packages)
      list.push_back({{"name", word(name)}, {"version", word(version)}});
  return list;
}

Packages packages_of_json(const json& value) {
  if (!value.is_array() || value.size() > most_packages) throw Malformed{"too many packages"};
  Packages packages;
  for (const json& package : value)
    packages[text_field(package, "name", longest_text)] =
        text_field(package, "version", longest_text);
  return packages;
}

}  // namespace

void fields(auto& f, Described<DiskFacts> auto& disk) {
  f.words("use", disk.use, longest_text);
  f.words("path", disk.path, longest_text);
  f.number("size", disk.size);
  f.number("free", disk.free);
  f.number("free_files", disk.free_files, -1);
  f.words("trouble", disk.trouble, longest_text);
}

void fields(auto& f, Described<PythonFacts> auto& python) {
  f.words("program", python.program, longest_text);
  f.words("version", python.version, longest_text);
  f.value_as("packages", python.packages, json_of_packages, packages_of_json);
  f.words("torch_cuda", python.torch_cuda, longest_text);
  f.words("trouble", python.trouble, longest_text);
}

void fields(auto& f, Described<RdmaPort> auto& port) {
  f.words("name", port.name, longest_text);
  f.words("state", port.state, longest_text);
  f.words("rate", port.rate, longest_text);
  f.words("layer", port.layer, longest_text);
}

void fields(auto& f, Described<DataFacts> auto& data) {
  f.words("directory", data.directory, longest_text);
  f.number("bytes", data.bytes);
  f.duration("took_ns", data.took);
  f.words("trouble", data.trouble, longest_text);
}

void fields(auto& f, Described<FitnessRequest> auto& request) {
  f.text("lease_directory", request.lease_directory, longest_lease_directory);
  f.number("ranks", request.ranks);
  f.flag("brings_context", request.brings_context);
  f.text("data_directory", request.data_directory, longest_data_directory);
  f.optional("rank", request.rank.has_value(), [&] {
    f.value_as(
        "rank", request.rank, [](const auto& rank) { return json_of_ranks({*rank}); },
        [](const json& value) {
          std::vector<RankCommand> ranks = ranks_of_json(value);
          if (ranks.size() != 1) throw Malformed{"not one rank"};
          return std::optional(std::move(ranks.front()));
        });
  });
}

void fields(auto& f, Described<HostFitness> auto& fitness) {
  f.value_as("host", fitness.host, json_of_report, report_of_json);
  f.number("wall_ns", fitness.wall_ns);
  f.words("name", fitness.name, longest_text);
  f.cut_texts("name_addresses", fitness.name_addresses, most_addresses, longest_text);
  f.words("name_trouble", fitness.name_trouble, longest_text);
  f.cut_list("disks", fitness.disks, most_disks);
  f.number("memory_lock", fitness.memory_lock, -1);
  f.number("open_files", fitness.open_files, -1);
  f.cut_list("rdma", fitness.rdma, most_rdma_ports);
  f.object("data", fitness.data);
  f.value_as("devices", fitness.devices, json_of_devices, devices_of_json);
  f.words("devices_trouble", fitness.devices_trouble, longest_text);
  f.cut_list("problems", fitness.problems, most_told_problems);
  f.words("program", fitness.program, longest_text);
  f.words("program_sha256", fitness.program_sha256, longest_text);
  f.words("script", fitness.script, longest_text);
  f.words("script_sha256", fitness.script_sha256, longest_text);
  f.object("python", fitness.python);
}

std::uint64_t DataFacts::pace() const {
  const double seconds = std::chrono::duration<double>(took).count();
  return seconds > 0 ? static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds) : 0;
}

std::string encode_fitness_request(const FitnessRequest& request) {
  return line_of_fields(request);
}

Result<FitnessRequest> decode_fitness_request(std::string_view line) {
  return decode_fields<FitnessRequest>(line, longest_fitness_request,
                                       "what is to be checked is not understood");
}

std::string encode_host_fitness(const HostFitness& fitness) { return line_of_fields(fitness); }

Result<HostFitness> decode_host_fitness(std::string_view line) {
  return decode_fields<HostFitness>(line, longest_host_fitness,
                                    "what the host says of its fitness is not understood");
}

}  // namespace train
