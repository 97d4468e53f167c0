// SPDX-License-Identifier: Apache-2.0
// bench_hosts [ROUNDS]: what reading, expanding, folding and filtering hosts costs, from 1,024 to
// 65,536 of them. A table a task: median of ROUNDS (default 9) with least and most, in
// milliseconds, per host, and the growth since the line before; about 2.0 is linear. Nothing here
// passes or fails: times depend on the machine.
#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <vector>

#include "config_schema/allocation/scheduler_allocation.hpp"
#include "config_schema/hosts/host_filter.hpp"
#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "tests/bench/stopwatch.hpp"

using namespace train;

namespace {

// Work on a number of hosts, prepared outside of what is timed.
using Task = std::function<std::function<void()>(std::size_t hosts)>;

void show(const char* title, std::size_t most, int rounds, const Task& task) {
  fmt::print("\n{}\n\n  {:>8} {:>10} {:>21} {:>10} {:>8}\n", title, "hosts", "ms", "(min-max)",
             "us a host", "growth");
  double before = 0;
  for (std::size_t hosts = 1'024; hosts <= most; hosts *= 2) {
    const Times times = times_of(task(hosts), rounds);
    fmt::print("  {:>8} {:>10.2f} {:>21} {:>10.3f} {:>8}\n", hosts, times.median,
               fmt::format("({:.2f}-{:.2f})", times.least, times.most),
               times.median * 1'000 / static_cast<double>(hosts),
               before == 0 ? "" : fmt::format("{:.2f}", times.median / before));
    before = times.median;
  }
}

void show_ten_thousand(const std::vector<std::pair<const char*, Task>>& tasks, int rounds) {
  constexpr std::size_t hosts = 10'000;
  fmt::print("\n10,000 hosts\n\n  {:<45} {:>10} {:>21}\n", "", "ms", "(min-max)");
  for (const auto& [title, task] : tasks) {
    const Times times = times_of(task(hosts), rounds);
    fmt::print("  {:<45} {:>10.2f} {:>21}\n", title, times.median,
               fmt::format("({:.2f}-{:.2f})", times.least, times.most));
  }
}

std::vector<std::string> names_of(std::size_t hosts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < hosts; ++i) names.push_back(fmt::format("node{:05}", i));
  return names;
}

// A file with one line a host, in a form such as "{} slots=8\n".
std::string lines(std::size_t hosts, const char* form) {
  std::string text;
  for (const std::string& name : names_of(hosts)) text += fmt::format(fmt::runtime(form), name);
  return text;
}

Task reading(const char* head, const char* form) {
  return [=](std::size_t hosts) {
    return [source = SourceText{"hosts", head + lines(hosts, form)}, hosts] {
      const auto inventory = parse_hosts(source);
      require(inventory && inventory->hosts.size() == hosts, "reading");
    };
  };
}

Task expanding(const std::function<std::string(std::size_t)>& set) {
  return [=](std::size_t hosts) {
    return [text = set(hosts), hosts] {
      const auto names = expand_host_set(text);
      require(names && names->size() == hosts, "expanding");
    };
  };
}

Task folding(const std::function<std::string(std::size_t)>& set) {
  return [=](std::size_t hosts) {
    return
        [names = *expand_host_set(set(hosts))] { require(!fold_hosts(names).empty(), "folding"); };
  };
}

std::string one_dimension(std::size_t hosts) { return fmt::format("node[00000-{:05}]", hosts - 1); }

std::string two_dimensions(std::size_t hosts) {
  return fmt::format("r[1-{}]n[1-64]-ib", hosts / 64);
}

// Nothing folds: neighbours differ in two numbers.
std::string no_dimension(std::size_t hosts) {
  std::string text;
  for (std::size_t i = 0; i < hosts; ++i)
    text += fmt::format("{}r{}n{}", text.empty() ? "" : ",", i % 2, i);
  return text;
}

std::function<void()> filtering(std::size_t hosts) {
  auto inventory = parse_host_list({"-H", one_dimension(hosts) + ":8"});
  require(inventory.has_value(), "reading");
  return [inventory = *inventory, filter = one_dimension(hosts) + ":0-6"] {
    require(filter_hosts(inventory, FilterKind::exclude, filter).has_value(), "filtering");
  };
}

std::function<void()> reading_a_job(std::size_t hosts) {
  const EnvironmentMap environment = {{"SLURM_JOB_NODELIST", one_dimension(hosts)},
                                      {"SLURM_TASKS_PER_NODE", fmt::format("8(x{})", hosts)},
                                      {"SLURM_JOB_CPUS_PER_NODE", fmt::format("64(x{})", hosts)}};
  return [environment] {
    const auto job = read_allocation(
        environment, [](const std::string&) -> Result<std::string> { std::abort(); });
    require(job && *job, "reading a job");
  };
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = rounds_of(argc, argv);
  constexpr std::size_t all = 65'536;
  const std::vector<std::pair<const char*, Task>> files = {
      {"hosts file, a name a line", reading("", "{}\n")},
      {"hosts file, 'NAME slots=8'", reading("", "{} slots=8\n")},
      {"hosts file, 'NAME:8'", reading("", "{}:8\n")},
      {"hosts file, YAML, '- {name: NAME, slots: 8}'",
       reading("hosts:\n", "- {{name: {}, slots: 8}}\n")}};
  show_ten_thousand(files, rounds);
  for (std::size_t i = 0; i < files.size(); ++i)
    show(files[i].first, i + 1 < files.size() ? all : 16'384, rounds, files[i].second);
  show("expanding node[00000-65535]", all, rounds, expanding(one_dimension));
  show("expanding r[1-1024]n[1-64]-ib", all, rounds, expanding(two_dimensions));
  show("folding node[00000-65535]", all, rounds, folding(one_dimension));
  show("folding r[1-1024]n[1-64]-ib", all, rounds, folding(two_dimensions));
  show("folding what does not fold", all, rounds, folding(no_dimension));
  show("excluding slots of every host", all, rounds, filtering);
  show("a Slurm job", all, rounds, reading_a_job);
}
