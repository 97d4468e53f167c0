// SPDX-License-Identifier: Apache-2.0
#include "launcher/fitness/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/text/duration.hpp"
#include "launcher/fitness/device_verdict.hpp"
#include "launcher/fitness/rdma_verdict.hpp"
#include "launcher/lease/lease_words.hpp"
#include "launcher/live/live_hosts.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
// The minimum space for an agent and its ranks: their program, logs and files.
constexpr std::uint64_t least_free = 64 * mebibyte;
constexpr std::int64_t least_free_files = 1'000;
constexpr std::uint64_t usual_shared_memory = 512 * mebibyte;
constexpr std::int64_t least_memory_lock = 64 * static_cast<std::int64_t>(mebibyte);
constexpr std::int64_t usual_open_files = 4'096;
constexpr nanoseconds clocks_apart = 1s;
// A directory is slow if its pace times this factor is below the median.
constexpr std::uint64_t slow_data = 3;
// Reading less than this measures the time for opening files, not the pace.
constexpr std::uint64_t least_data = 16 * mebibyte;
// A reading that ends earlier than this is not judged: a single wait for the CPU or the disk, which
// says nothing about the directory, makes it three times as long.
constexpr nanoseconds least_reading = 500ms;

std::string mib(std::uint64_t bytes) {
  if (bytes >= 10'240 * mebibyte) return fmt::format("{} GiB", bytes >> 30);
  return fmt::format("{} MiB", bytes >> 20);
}

// The packages that must agree for all ranks of a run, because they communicate with each other.
constexpr std::array<std::string_view, 3> collective_packages = {"torch", "jax", "tensorflow"};
bool has_to_agree(std::string_view package) {
  return std::find(collective_packages.begin(), collective_packages.end(), package) !=
             collective_packages.end() ||
         package.starts_with("nvidia-nccl");
}

// "3.11" of "3.11.2".
std::string two_parts(const std::string& version) {
  return version.substr(0, version.find('.', std::min(version.find('.'), version.size() - 1) + 1));
}

// The numbers of "535.54.03".
std::vector<int> numbers_of(std::string_view version) {
  std::vector<int> numbers;
  while (!version.empty()) {
    int number = 0;
    const auto [end, error] =
        std::from_chars(version.data(), version.data() + version.size(), number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (!version.starts_with('.')) break;
    version.remove_prefix(1);
  }
  return numbers;
}

// The oldest driver that runs programs of this CUDA; empty: unknown.
std::string oldest_driver_of(const std::string& cuda) {
  const std::vector<int> numbers = numbers_of(cuda);
  if (numbers.empty()) return {};
  switch (numbers.front()) {
    case 11:
      return "450.80.02";
    case 12:
      return "525.60.13";
    case 13:
      return "580";
    default:
      return {};
  }
}

struct Span {
  nanoseconds least{0};
  nanoseconds most{0};
};

// The intersection of as many spans as possible (Marzullo's algorithm, which NTP uses to select
// true clocks); of several, the one nearest to 0.
Span most_common(const std::vector<Span>& spans) {
  std::vector<std::pair<nanoseconds, int>> ends;  // -1: a span begins
  for (const Span& span : spans) {
    ends.emplace_back(span.least, -1);
    ends.emplace_back(span.most, 1);
  }
  std::sort(ends.begin(), ends.end());
  const auto far = [](const Span& span) {
    return std::max({nanoseconds(0), span.least, -span.most});
  };
  Span best;
  int most = 0;
  int now = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    now -= ends[i].second;
    if (ends[i].second > 0 || now < most) continue;
    const Span here{ends[i].first, ends[i + 1].first};  // ends at the next end of a span
    if (now > most || far(here) < far(best)) best = here;
    most = now;
  }
  return best;
}

/// Collects the findings about the hosts.
class Judge {
 public:
  explicit Judge(const std::vector<CheckedHost>& hosts) : hosts_(hosts) {}

  std::vector<HostFinding> judge() {
    const std::vector<LiveHost> live = live_hosts_of(hosts_);
    for (host_ = 0; host_ < hosts_.size(); ++host_) {
      const auto& fitness = hosts_[host_].fitness;
      if (!fitness) {
        not_reached(fitness.error());
        continue;
      }
      look_at_slots(live[host_]);
      for (const Diagnostic& problem : fitness->problems)
        add(Fitness::unfit, "program", problem.message, problem.hint);
      look_at_gpus(*fitness);
      look_at_disks(*fitness);
      look_at_limits(*fitness);
      look_at_name(*fitness);
      look_at_python(*fitness);
      if (fitness->data && !fitness->data->trouble.empty())
        add(Fitness::unfit, "data",
            fmt::format("{} cannot be read: {}", fitness->data->directory, fitness->data->trouble),
            "mount it there, or name another with --data");
    }
    compare_clocks();
    compare_programs();
    compare_pythons();
    compare_drivers();
    compare_data();
    for (HostFinding& finding : judge_rdma(hosts_)) found_.push_back(std::move(finding));
    for (HostFinding& finding : judge_devices(hosts_)) found_.push_back(std::move(finding));
    std::stable_sort(found_.begin(), found_.end(), [](const HostFinding& a, const HostFinding& b) {
      return a.host != b.host ? a.host < b.host : a.fitness > b.fitness;
    });
    return std::move(found_);
  }

 private:
  void add(Fitness fitness, std::string check, std::string message, std::string hint = {}) {
    found_.push_back({host_, fitness, std::move(check), std::move(message), std::move(hint)});
  }

  void not_reached(const Error& error) {
    const Diagnostic& first = error.diagnostics.front();
    // Something missing on the host also prevents ranks from running.
    const bool is_unfit = error.error_class == ErrorClass::missing;
    add(is_unfit ? Fitness::unfit : Fitness::unknown, "reach", first.message,
        !first.hint.empty() ? first.hint
                            : fmt::format("'ssh {} true' shows whether it can be logged in to",
                                          hosts_[host_].host.name));
  }

  void look_at_slots(const LiveHost& live) {
    const HostReport& report = *live.report;
    const Host& host = live.host;
    if (!live.is_known())
      return add(Fitness::unknown, "slots", "who holds what is not known: " + report.lease_trouble);
    if (!live.same_as.empty())
      return add(Fitness::unfit, "slots", fmt::format("it is the same machine as {}", live.same_as),
                 "name each machine once: its slots would be taken twice");
    const std::size_t all = live.slots.slots.size();
    const std::size_t free = free_slots(live);
    const std::size_t foreign = foreign_slots(live);
    if (free + foreign < all)
      add(Fitness::fit, "slots",
          fmt::format("{} of its {} slots {} held", all - free - foreign, all,
                      all - free - foreign == 1 ? "is" : "are"),
          "a launch takes others or waits with --wait; 'train task list' says who holds them");
    if (foreign > 0)
      add(Fitness::fit, "slots",
          fmt::format("{} of its {} slots {} used by processes outside of train: {}", foreign, all,
                      foreign == 1 ? "is" : "are", foreign_words(live)),
          "a launch leaves them alone; --allow-busy takes them");
    for (const std::string& note : live_notes(live)) add(Fitness::fit, "slots", note);
    if (host.cpus && *host.cpus > Quantity::of(report.cpus))
      add(Fitness::fit, "slots",
          fmt::format("it has {} CPUs for a session; the hosts file says {}", report.cpus,
                      to_string(*host.cpus)),
          "correct 'CPU' there, or look at the limits of a login ('nproc')");
    if (host.memory && report.memory > 0 && *host.memory > report.memory)
      add(Fitness::fit, "slots",
          fmt::format("it has {} of memory; the hosts file says {}", mib(report.memory),
                      mib(*host.memory)),
          "correct 'memory' there");
  }

  static std::string foreign_words(const LiveHost& live) {
    constexpr std::size_t most = 3;
    std::set<std::size_t> holders;
    for (const auto& shares : live.slots.slots)
      if (is_foreign(live, shares))
        for (const SlotShare& share : shares) holders.insert(share.holder);
    std::vector<std::string> words;
    for (const std::size_t holder : holders)
      if (words.size() < most) words.push_back(short_words_of(live.report->holders[holder]));
    const std::string rest =
        holders.size() > most ? fmt::format(" and {} more", holders.size() - most) : "";
    return fmt::format("{}{}", fmt::join(words, ", "), rest);
  }

  void look_at_gpus(const HostFitness& fitness) {
    const Host& host = hosts_[host_].host;
    const HostReport& report = fitness.host;
    const std::size_t gpus = report.gpus.count();
    const auto declared = static_cast<std::size_t>(host.accelerators.value_or(0));
    const bool is_unknown = report.gpus.obstacle == HostGpus::Obstacle::driver_unknown;
    // TPUs and similar devices are not detected.
    if (says_devices(host) && gpus < declared && !is_unknown)
      add(Fitness::unfit, "gpus",
          fmt::format("it shows {} of the {} GPUs that the hosts file says{}", gpus, declared,
                      report.gpus.hidden > 0
                          ? fmt::format("; {} more cannot be used", report.gpus.hidden)
                          : ""),
          gpus == 0 ? "'nvidia-smi' there shows whether the driver is loaded"
                    : "'nvidia-smi' there shows which has fallen off the bus");
    if (!host.accelerator_type.empty() && !report.gpu_type.empty() &&
        host.accelerator_type != report.gpu_type)
      add(Fitness::unfit, "gpus",
          fmt::format("its GPUs are {}; the hosts file says {}", report.gpu_type,
                      host.accelerator_type),
          "correct 'accelerator_type' there");
  }

  void look_at_disks(const HostFitness& fitness) {
    for (const DiskFacts& disk : fitness.disks) {
      const std::string where = fmt::format("{} ({})", disk.path, disk.use);
      if (!disk.trouble.empty())
        add(Fitness::unfit, "disk",
            fmt::format("nothing can be written to {}: {}", where, disk.trouble),
            "ranks and their agent write there");
      else if (disk.free < least_free)
        add(Fitness::unfit, "disk",
            fmt::format("{} is full: {} of {} are free", where, mib(disk.free), mib(disk.size)),
            fmt::format("remove what is not needed: 'df -h {}' shows it", disk.path));
      else if (disk.free_files >= 0 && disk.free_files < least_free_files)
        add(Fitness::unfit, "disk",
            fmt::format("{} has room for {} more files", where, disk.free_files),
            fmt::format("remove what is not needed: 'df -i {}' shows it", disk.path));
      else if (disk.use == shared_memory_use && disk.size < usual_shared_memory)
        add(Fitness::fit, "shared_memory",
            fmt::format("{} has {}, and data loaders may fill it", where, mib(disk.size)),
            "a container gets more with --shm-size or --ipc=host");
    }
  }

  void look_at_limits(const HostFitness& fitness) {
    if (!fitness.rdma.empty() && fitness.memory_lock >= 0 &&
        fitness.memory_lock < least_memory_lock)
      add(Fitness::unfit, "memory_lock",
          fmt::format("a process may lock {} KiB of memory, and RDMA locks its buffers",
                      fitness.memory_lock >> 10),
          "let 'ulimit -l' of a login say unlimited (/etc/security/limits.conf)");
    if (fitness.open_files >= 0 && fitness.open_files < usual_open_files)
      add(Fitness::fit, "open_files",
          fmt::format("a process may open {} files, and data loaders open many",
                      fitness.open_files),
          "let 'ulimit -Hn' of a login say more (/etc/security/limits.conf)");
  }

  void look_at_name(const HostFitness& fitness) {
    if (hosts_.size() < 2) return;
    if (!fitness.name_trouble.empty())
      return add(Fitness::fit, "name",
                 fmt::format("its own name '{}' means no address there: {}", fitness.name,
                             fitness.name_trouble),
                 "train tells ranks which interface to use; other programs may need the name in "
                 "/etc/hosts or DNS");
    const bool is_all_loopback =
        !fitness.name_addresses.empty() &&
        std::all_of(fitness.name_addresses.begin(), fitness.name_addresses.end(),
                    [](const std::string& a) { return a.starts_with("127.") || a == "::1"; });
    if (is_all_loopback)
      add(Fitness::fit, "name",
          fmt::format("its own name '{}' means {} there, which no other host reaches", fitness.name,
                      fitness.name_addresses.front()),
          "train tells ranks which interface to use; other programs may need another line in "
          "/etc/hosts");
  }

  void look_at_python(const HostFitness& fitness) {
    if (!fitness.python) return;
    const PythonFacts& python = *fitness.python;
    if (!python.trouble.empty())
      add(Fitness::unknown, "python",
          fmt::format("{} does not say its version: {}", python.program, python.trouble));
    const HostReport& report = fitness.host;
    const std::string oldest = oldest_driver_of(python.torch_cuda);
    if (report.gpus.count() == 0 || report.driver.empty() || oldest.empty()) return;
    if (numbers_of(report.driver) < numbers_of(oldest))
      add(Fitness::unfit, "driver",
          fmt::format("its driver {} is too old for torch, which is built with CUDA {}",
                      report.driver, python.torch_cuda),
          fmt::format("install driver {} or newer, or a torch for an older CUDA", oldest));
  }

  // --- Values that must be equal on all hosts ---

  using ValueOf = std::function<std::optional<std::string>(const HostFitness&)>;

  // Calls `words` for each host whose value differs from the most common one, which it returns.
  // `words` gets the host's value, that of the others, and the names of the others.
  template <class Words>
  std::string compare(const ValueOf& value_of, const Words& words) {
    std::map<std::string, std::vector<std::size_t>> groups;
    std::vector<std::string> in_order;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (!hosts_[i].fitness) continue;
      const auto value = value_of(*hosts_[i].fitness);
      if (!value) continue;
      auto& group = groups[*value];
      if (group.empty()) in_order.push_back(*value);
      group.push_back(i);
    }
    if (groups.empty()) return {};
    const std::string* right = &in_order.front();
    for (const std::string& value : in_order)
      if (groups[value].size() > groups[*right].size()) right = &value;
    std::vector<std::string> names;
    for (const std::size_t i : groups[*right]) names.push_back(hosts_[i].host.name);
    const std::string others = summarize_hosts(names, 2);
    for (const std::string& value : in_order) {
      if (value == *right) continue;
      for (const std::size_t i : groups[value]) {
        host_ = i;
        words(value, *right, others);
      }
    }
    return *right;
  }

  void compare_programs() {
    compare(
        [](const HostFitness& fitness) -> std::optional<std::string> {
          if (fitness.script_sha256.empty()) return std::nullopt;
          return fitness.script_sha256;
        },
        [&](const std::string& own, const std::string& others, const std::string& names) {
          add(Fitness::unfit, "script",
              fmt::format("its '{}' differs from that of {} (SHA-256 {} here, {} there)",
                          hosts_[host_].fitness->script, names, own.substr(0, 12),
                          others.substr(0, 12)),
              "bring the same code to all hosts: --context DIR sends it with the launch");
        });
    compare(
        [](const HostFitness& fitness) -> std::optional<std::string> {
          // For Python the version is compared instead.
          if (fitness.program_sha256.empty() || fitness.python) return std::nullopt;
          return fitness.program_sha256;
        },
        [&](const std::string& own, const std::string& others, const std::string& names) {
          add(Fitness::fit, "program",
              fmt::format("its {} differs from that of {} (SHA-256 {} here, {} there)",
                          hosts_[host_].fitness->program, names, own.substr(0, 12),
                          others.substr(0, 12)));
        });
  }

  void compare_pythons() {
    const auto told = [](const HostFitness& fitness) {
      return fitness.python && fitness.python->trouble.empty();
    };
    const std::string usual = compare(
        [&](const HostFitness& fitness) -> std::optional<std::string> {
          if (!told(fitness)) return std::nullopt;
          return two_parts(fitness.python->version);
        },
        [&](const std::string& own, const std::string& others, const std::string& names) {
          add(Fitness::unfit, "python",
              fmt::format("{} is Python {} here and {} on {}",
                          hosts_[host_].fitness->python->program, own, others, names),
              "let all hosts run the same one: name it by its path in 'entrypoint'");
        });
    // Only hosts with the usual Python: packages of another Python differ naturally.
    const auto is_usual = [&](const HostFitness& fitness) {
      return told(fitness) && two_parts(fitness.python->version) == usual;
    };
    std::set<std::string> packages;
    for (const CheckedHost& host : hosts_)
      if (host.fitness && is_usual(*host.fitness))
        for (const auto& [name, version] : host.fitness->python->packages) packages.insert(name);
    for (const std::string& package : packages)
      compare(
          [&](const HostFitness& fitness) -> std::optional<std::string> {
            if (!is_usual(fitness)) return std::nullopt;
            const auto& all = fitness.python->packages;
            const auto found = all.find(package);
            return found == all.end() ? std::string() : found->second;
          },
          [&](const std::string& own, const std::string& others, const std::string& names) {
            const auto words = [](const std::string& version) {
              return version.empty() ? std::string("missing") : version;
            };
            add(has_to_agree(package) ? Fitness::unfit : Fitness::fit, "package",
                fmt::format("{} is {} here and {} on {}", package, words(own), words(others),
                            names),
                has_to_agree(package) ? "install the same one on all hosts" : "");
          });
    compare(
        [&](const HostFitness& fitness) -> std::optional<std::string> {
          if (!is_usual(fitness) || fitness.python->torch_cuda.empty()) return std::nullopt;
          return fitness.python->torch_cuda;
        },
        [&](const std::string& own, const std::string& others, const std::string& names) {
          add(Fitness::unfit, "package",
              fmt::format("torch is built with CUDA {} here and {} on {}", own, others, names),
              "install the same one on all hosts");
        });
  }

  void compare_drivers() {
    compare(
        [](const HostFitness& fitness) -> std::optional<std::string> {
          if (fitness.host.driver.empty()) return std::nullopt;
          return fitness.host.driver;
        },
        [&](const std::string& own, const std::string& others, const std::string& names) {
          add(Fitness::fit, "driver",
              fmt::format("NVIDIA's driver is {} here and {} on {}", own, others, names),
              "NCCL is slower or fails between some of them: update one of both");
        });
    compare(
        [](const HostFitness& fitness) -> std::optional<std::string> {
          if (fitness.host.gpu_type.empty()) return std::nullopt;
          return fitness.host.gpu_type;
        },
        [&](const std::string& own, const std::string& others, const std::string& names) {
          add(Fitness::fit, "gpus",
              fmt::format("its GPUs are {}; those of {} are {}", own, names, others),
              "the slowest rank sets the pace: resources.accelerator_type chooses one kind");
        });
  }

  // For three or more hosts, as for links.
  void compare_data() {
    std::vector<std::uint64_t> paces;
    for (const CheckedHost& host : hosts_)
      if (host.fitness && host.fitness->data && has_pace(*host.fitness->data))
        paces.push_back(host.fitness->data->pace());
    if (paces.size() < 3) return;
    const auto middle = paces.begin() + static_cast<std::ptrdiff_t>(paces.size() / 2);
    std::nth_element(paces.begin(), middle, paces.end());
    for (host_ = 0; host_ < hosts_.size(); ++host_) {
      if (!hosts_[host_].fitness || !hosts_[host_].fitness->data) continue;
      const DataFacts& data = *hosts_[host_].fitness->data;
      if (!has_pace(data) || data.took < least_reading) continue;
      if (data.pace() * slow_data >= *middle) continue;
      add(Fitness::unfit, "data",
          fmt::format("it reads {} at {}, and the median of all is {}", data.directory,
                      rate_text(data.pace()), rate_text(*middle)),
          "'mount' and 'iostat -x' there show what it is on, and who else reads");
    }
  }

  // A clock is read at an unknown moment between query and answer, so clocks count as equal if they
  // may be.
  void compare_clocks() {
    std::vector<Span> spans;
    for (const CheckedHost& host : hosts_)
      if (host.fitness) spans.push_back({host.clock_ahead_least, host.clock_ahead_most});
    // With two hosts, the clock of this machine decides; a single host is compared with this
    // machine.
    while (spans.size() < 3 && !spans.empty()) spans.push_back({});
    const Span usual = most_common(spans);
    for (host_ = 0; host_ < hosts_.size(); ++host_) {
      const CheckedHost& host = hosts_[host_];
      if (!host.fitness) continue;
      const nanoseconds behind = usual.least - host.clock_ahead_most;
      const nanoseconds ahead = host.clock_ahead_least - usual.most;
      const auto off = std::chrono::duration_cast<milliseconds>(std::max(behind, ahead));
      if (off <= clocks_apart) continue;
      add(Fitness::unfit, "clock",
          fmt::format("its clock is {} {} the others'", short_duration_text(off),
                      ahead > behind ? "ahead of" : "behind"),
          "let NTP set it: 'timedatectl' or 'chronyc tracking' there shows how it is");
    }
  }

  const std::vector<CheckedHost>& hosts_;
  std::size_t host_ = 0;
  std::vector<HostFinding> found_;
};

}  // namespace

bool has_pace(const DataFacts& data) { return data.trouble.empty() && data.bytes >= least_data; }

std::string_view to_string(Fitness fitness) {
  switch (fitness) {
    case Fitness::fit:
      return "fit";
    case Fitness::unfit:
      return "unfit";
    case Fitness::unknown:
      return "unknown";
  }
  return "unknown";
}

std::string rate_text(std::uint64_t bytes_per_second) {
  const auto rate = static_cast<double>(bytes_per_second);
  if (rate >= 1e9) return fmt::format("{:.1f} GB/s", rate / 1e9);
  if (rate >= 1e6) return fmt::format("{:.1f} MB/s", rate / 1e6);
  return fmt::format("{:.0f} kB/s", rate / 1e3);
}

std::vector<HostFinding> judge(const std::vector<CheckedHost>& hosts) {
  return Judge(hosts).judge();
}

Fitness fitness_of(const std::vector<HostFinding>& findings, std::size_t host) {
  Fitness fitness = Fitness::fit;
  for (const HostFinding& finding : findings)
    if (finding.host == host) fitness = std::max(fitness, finding.fitness);
  return fitness;
}

Fitness fitness_of(const std::vector<HostFinding>& findings) {
  Fitness fitness = Fitness::fit;
  for (const HostFinding& finding : findings) fitness = std::max(fitness, finding.fitness);
  return fitness;
}

std::vector<SharedFinding> shared_findings(const std::vector<HostFinding>& findings) {
  std::vector<SharedFinding> shared;
  for (const HostFinding& finding : findings) {
    const auto alike = std::find_if(shared.begin(), shared.end(), [&](const SharedFinding& each) {
      HostFinding same = finding;
      same.host = each.finding.host;
      return same == each.finding;
    });
    if (alike != shared.end())
      alike->hosts.push_back(finding.host);
    else
      shared.push_back({finding, {finding.host}});
  }
  return shared;
}

std::vector<LiveHost> live_hosts_of(const std::vector<CheckedHost>& checked) {
  std::vector<Host> hosts;
  std::vector<Result<HostReport>> reports;
  for (const CheckedHost& each : checked) {
    hosts.push_back(each.host);
    if (each.fitness)
      reports.emplace_back(each.fitness->host);
    else
      reports.emplace_back(tl::make_unexpected(each.fitness.error()));
  }
  return live_hosts(hosts, std::move(reports));
}

std::string clock_text(const CheckedHost& host) {
  if (!host.fitness) return {};
  const nanoseconds least = host.clock_ahead_least;
  const nanoseconds most = host.clock_ahead_most;
  if (least <= nanoseconds(0) && most >= nanoseconds(0)) return "0 s";
  const bool is_ahead = least > nanoseconds(0);
  const auto off = std::chrono::duration_cast<milliseconds>(is_ahead ? least : -most);
  return fmt::format("{}{}", is_ahead ? "+" : "-", short_duration_text(off));
}

}  // namespace train
