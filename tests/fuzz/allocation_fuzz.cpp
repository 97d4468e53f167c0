// SPDX-License-Identifier: Apache-2.0
// The variables and the file of a scheduler's job, and a filter of its hosts. An input has
// NAME=VALUE lines, an empty line, and what every file that they name holds; the variable FILTER is
// tried with --include and --exclude.
#include <algorithm>
#include <unordered_set>

#include "config_schema/allocation/scheduler_allocation.hpp"
#include "config_schema/allocation/slurm_allocation.hpp"
#include "config_schema/hosts/host_filter.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "tests/fuzz/property.hpp"

using namespace train;
using fuzz::require;

namespace {

struct Job {
  EnvironmentMap environment;
  std::string file;
  std::string filter;
};

// All files are one, whose name is neither that of a flag nor of a variable.
void set(EnvironmentMap& environment, const std::string& name, const std::string& value) {
  environment[name] = name.ends_with("FILE") ? "f" : value;
}

Job job_of(const std::string& input) {
  Job job;
  const std::size_t end = std::min(input.find("\n\n"), input.size());
  if (end < input.size()) job.file = input.substr(end + 2);
  for (std::size_t begin = 0; begin < end;) {
    const std::size_t stop = std::min(input.find('\n', begin), end);
    const std::string line = input.substr(begin, stop - begin);
    if (const std::size_t equals = line.find('='); equals != line.npos)
      set(job.environment, line.substr(0, equals), line.substr(equals + 1));
    begin = stop + 1;
  }
  job.filter = job.environment["FILTER"];
  return job;
}

std::vector<fuzz::NamedText> texts_of(const Job& job) {
  std::vector<fuzz::NamedText> texts = {{"--include", job.filter}, {"--exclude", job.filter}};
  for (const auto& [name, value] : job.environment) {
    texts.push_back({"$" + name, value});
    if (!value.empty()) texts.push_back({value, job.file});
  }
  return texts;
}

void check_hosts(const HostInventory& inventory) {
  require(!inventory.hosts.empty() && inventory.hosts.size() <= max_hosts,
          "a job has a bounded number of hosts");
  std::unordered_set<std::string> names;
  for (const Host& host : inventory.hosts) {
    require(names.insert(host.name).second, "a host is there once", host.name);
    require(!host.name.empty() && host.name.front() != '-', "a host has a name", host.name);
    require(!host.slots || (*host.slots >= 1 && *host.slots <= 65'536), "slots are bounded",
            host.name);
    require(host.accelerators.value_or(0) >= 0, "devices are not negative", host.name);
  }
}

void check_filter(const HostInventory& inventory, FilterKind kind, const Job& job) {
  Result<HostInventory> left;
  {
    const fuzz::CpuLimit limit;
    left = filter_hosts(inventory, kind, job.filter);
  }
  if (!left) return fuzz::check_error(left.error(), ErrorClass::hosts, texts_of(job));
  check_hosts(*left);
  auto next = inventory.hosts.begin();
  for (const Host& host : left->hosts) {
    next = std::find_if(next, inventory.hosts.end(),
                        [&](const Host& each) { return each.name == host.name; });
    require(next != inventory.hosts.end(), "a filter keeps the order", host.name);
    const std::vector<int>& slots = host.slot_indices;
    require(std::is_sorted(slots.begin(), slots.end()), "slots are ascending", host.name);
    require(slots.empty() || (slots.front() >= 0 && slots.back() < *slot_count(host)),
            "a filter keeps slots of the host", host.name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Job job = job_of(std::string(reinterpret_cast<const char*>(data), size));
  Result<std::optional<HostInventory>> found;
  {
    const fuzz::CpuLimit limit;
    found = read_allocation(job.environment,
                            [&](const std::string&) -> Result<std::string> { return job.file; });
  }
  if (!found) {
    fuzz::check_error(found.error(), ErrorClass::hosts, texts_of(job));
  } else if (*found) {
    check_hosts(**found);
    fuzz::check_diagnostics((*found)->warnings, texts_of(job));
    check_filter(**found, FilterKind::include, job);
    check_filter(**found, FilterKind::exclude, job);
    {
      const fuzz::CpuLimit limit;
      settle_gpus(job.file, **found);  // what Slurm says of a job
    }
    check_hosts(**found);
  }
  return 0;
}
