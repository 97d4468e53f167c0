// SPDX-License-Identifier: Apache-2.0
#include "launcher/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "config_schema/text/shell_words.hpp"
#include "config_schema/text/text.hpp"

namespace train {
namespace {

std::int64_t number_of(std::string_view digits) {
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// Turns "0-4/2" into "0,2,4"; other text and leading zeros are kept.
std::string without_step(std::string_view range) {
  const std::size_t slash = range.find('/');
  const std::size_t dash = range.find('-');
  if (slash == range.npos || dash == range.npos) return std::string(range);
  const std::string_view first = range.substr(0, dash);
  const std::int64_t last = number_of(range.substr(dash + 1, slash - dash - 1));
  const std::int64_t step = std::max<std::int64_t>(1, number_of(range.substr(slash + 1)));
  std::string numbers;
  for (std::int64_t number = number_of(first); number <= last; number += step)
    numbers += fmt::format("{}{:0{}}", numbers.empty() ? "" : ",", number, first.size());
  return numbers;
}

// Hosts of one job, or of one component of a heterogeneous job.
struct Component {
  std::vector<std::string> hosts = {};
  int ranks = 0;         // sum over all hosts
  int most_ranks = 0;    // maximum of one host
  std::size_t gpus = 0;  // maximum of one host
  int workers = 0;       // maximum of one host
};

std::size_t gpus_of(const PlannedHost& host) { return host.slots_are_gpus ? host.slots.size() : 0; }

void add(Component& component, const PlannedHost& host) {
  component.hosts.push_back(host.host.name);
  component.ranks += host.rank_count;
  component.most_ranks = std::max(component.most_ranks, host.rank_count);
  component.gpus = std::max(component.gpus, gpus_of(host));
  component.workers = std::max(component.workers, host.worker_count);
}

class SlurmScript {
 public:
  SlurmScript(const Plan& plan, const std::optional<PlannedContext>& context)
      : plan_(plan),
        context_(context),
        trial_(plan.trial),
        is_per_host_(plan.experiment.processes == Processes::per_host) {}

  std::string write() {
    choose_layout();
    text_ += "#!/bin/bash\n";
    text_ += fmt::format("#SBATCH --job-name={}\n", slurm_job_name(plan_.experiment.name));
    for (std::size_t i = 0; i < components_.size(); ++i) {
      if (i > 0) text_ += "#SBATCH hetjob\n";
      add_directives(components_[i]);
    }
    text_ += fmt::format("# {}\n", plan_title(plan_, trial_.hosts.size()));
    text_ +=
        "# sbatch FILE [COMMAND...]: the entrypoint, or COMMAND, on every rank. What else "
        "train sets\n# for a rank is in: train plan --format env\n";
    add_open_question();
    if (context_)
      text_ += fmt::format(
          "# The context does not travel with this script: call sbatch in a copy that all hosts "
          "see.\n# {}\n",
          context_line(context_));
    add_command();
    add_environment();
    add_srun();
    return std::move(text_);
  }

 private:
  bool is_in_order() const {
    return std::is_sorted(trial_.hosts.begin(), trial_.hosts.end(),
                          [](const PlannedHost& left, const PlannedHost& right) {
                            return slurm_sorts_before(left.host.name, right.host.name);
                          });
  }

  static bool are_alike(const PlannedHost& left, const PlannedHost& right) {
    return left.rank_count == right.rank_count && gpus_of(left) == gpus_of(right) &&
           left.worker_count == right.worker_count;
  }

  // Whether the host has room for the largest request of any host.
  bool has_room(const PlannedHost& host, const Component& most) const {
    if (most.gpus > 0) return slot_count(host.host).value_or(0) >= static_cast<int>(most.gpus);
    if (host.host.cpus)
      return *host.host.cpus >= Quantity::of(cpus_per_task(most)) * most.most_ranks;
    return slot_count(host.host).value_or(0) >= most.most_ranks;
  }

  void choose_layout() {
    const std::vector<PlannedHost>& hosts = trial_.hosts;
    Component whole;
    for (const PlannedHost& host : hosts) add(whole, host);
    const bool alike = std::all_of(hosts.begin(), hosts.end(), [&](const PlannedHost& host) {
      return are_alike(host, hosts.front());
    });
    const bool all_have_room = std::all_of(hosts.begin(), hosts.end(),
                                           [&](const auto& host) { return has_room(host, whole); });
    is_arbitrary_ = !(alike && is_in_order()) && (alike || all_have_room);
    if (alike || all_have_room) {
      components_ = {std::move(whole)};
      return;
    }
    const PlannedHost* before = nullptr;
    for (const PlannedHost& host : hosts) {
      const bool goes_on = before != nullptr && are_alike(*before, host) &&
                           slurm_sorts_before(before->host.name, host.host.name);
      if (!goes_on) components_.emplace_back();
      add(components_.back(), host);
      before = &host;
    }
  }

  // 0 if the experiment gives none.
  int cpus_per_task(const Component& component) const {
    const int workers = is_per_host_ ? component.workers : 1;
    const Quantity cpus = plan_.experiment.needs.cpus * workers;
    return static_cast<int>(slurm_cpus(cpus));
  }

  void add_directives(const Component& component) {
    const auto add_line = [this](const std::string& option) {
      text_ += fmt::format("#SBATCH --{}\n", option);
    };
    add_line(fmt::format("nodes={}", component.hosts.size()));
    add_line(fmt::format("nodelist={}", slurm_host_set(component.hosts)));
    // For an arbitrary layout, srun distributes the tasks, so the request has room for the maximum
    // on every host.
    if (!is_arbitrary_) add_line(fmt::format("ntasks={}", component.ranks));
    add_line(fmt::format("ntasks-per-node={}", component.most_ranks));
    // Slurm has no option for TPU chips.
    if (component.gpus > 0 && !plan_.experiment.needs.tpus_named) add_line(gpu_option(component));
    if (const int cpus = cpus_per_task(component); cpus > 0)
      add_line(fmt::format("cpus-per-task={}", cpus));
    const std::uint64_t memory = plan_.experiment.needs.memory.value_or(0);
    if (memory > 0)
      add_line(slurm_memory_option(memory * static_cast<std::uint64_t>(component.workers)));
  }

  // A comment for hosts whose slot kind is unknown: Slurm gives what a job requests, and the hosts
  // were not queried.
  void add_open_question() {
    const auto asked = std::find_if(
        trial_.hosts.begin(), trial_.hosts.end(),
        [](const PlannedHost& host) { return host.devices_at_launch && !host.slots_are_gpus; });
    if (asked == trial_.hosts.end()) return;
    text_ += fmt::format(
        "# No GPUs are asked for: whether slots are GPUs is known only when train launches. If "
        "they "
        "are,\n# write slot_type: cuda in the hosts file, or add #SBATCH --gpus-per-node={}\n",
        asked->slots.size());
  }

  // GPUs per task if each rank sees only its own: Slurm then binds them. 0: all ranks of a host see
  // all GPUs of the job there.
  std::int64_t gpus_per_task() const {
    const ExperimentConfig& experiment = plan_.experiment;
    const Quantity gpus = experiment.needs.slots;
    const bool are_own =
        experiment.visible_devices == VisibleDevices::per_rank ||
        (experiment.visible_devices == VisibleDevices::automatic && gpus != Quantity::of(1));
    return are_own && gpus.is_whole() && !is_per_host_ ? gpus.whole() : 0;
  }

  // In an arbitrary layout, the GPUs of tasks come from those of the node.
  std::string gpu_option(const Component& component) const {
    return gpus_per_task() > 0 && !is_arbitrary_ ? fmt::format("gpus-per-task={}", gpus_per_task())
                                                 : fmt::format("gpus-per-node={}", component.gpus);
  }

  void add_command() {
    const Entrypoint& entrypoint = plan_.experiment.entrypoint;
    if (entrypoint.empty()) return;
    const std::string command = entrypoint.shell.empty()
                                    ? shell_line(entrypoint.argv)
                                    : shell_line({"/bin/sh", "-c", entrypoint.shell});
    text_ += fmt::format("[ $# -gt 0 ] || set -- {}\n", command);
  }

  // With one process per host, the process is torchrun, which starts the ranks itself.
  void add_rendezvous() {
    const std::string address = shell_quoted(trial_.hosts.front().host.address);
    const char* port = "$((20000 + SLURM_JOB_ID % 10000))";
    if (is_per_host_)
      text_ += fmt::format("export PET_NNODES={} PET_MASTER_ADDR={} PET_MASTER_PORT={}\n",
                           trial_.hosts.size(), address, port);
    else
      text_ += fmt::format("export WORLD_SIZE={} MASTER_ADDR={} MASTER_PORT={}\n",
                           trial_.world_size, address, port);
  }

  // The variables that a task derives from Slurm's.
  std::string own_environment() const {
    if (!is_per_host_) return "export RANK=\"$SLURM_PROCID\" LOCAL_RANK=\"$SLURM_LOCALID\"";
    std::vector<int> workers;
    for (const PlannedHost& host : trial_.hosts) workers.push_back(host.worker_count);
    const bool are_alike = std::all_of(workers.begin(), workers.end(),
                                       [&](int count) { return count == workers.front(); });
    return fmt::format("export PET_NODE_RANK=\"$SLURM_PROCID\" PET_NPROC_PER_NODE={}",
                       are_alike
                           ? fmt::format("{}", workers.front())
                           : fmt::format("\"$(echo {} | cut -d\" \" -f$((SLURM_PROCID + 1)))\"",
                                         fmt::join(workers, " ")));
  }

  void add_environment() {
    add_rendezvous();
    if (!trial_.global_batch_size) return;
    const bool is_even = std::all_of(
        trial_.ranks.begin(), trial_.ranks.end(),
        [&](const PlannedRank& rank) { return rank.batch_size == trial_.ranks[0].batch_size; });
    text_ += fmt::format("export TRAIN_GLOBAL_BATCH_SIZE={}", *trial_.global_batch_size);
    if (is_even && !is_per_host_)
      text_ += fmt::format(" TRAIN_BATCH_SIZE={}\n", trial_.ranks[0].batch_size.value_or(0));
    else
      text_ +=
          is_per_host_ ? "\n" : "\n# The ranks' batch sizes differ: TRAIN_BATCH_SIZE is not set.\n";
  }

  void add_host_file() {
    text_ +=
        "SLURM_HOSTFILE=$(mktemp) || exit\nexport SLURM_HOSTFILE\n"
        "trap 'rm -f \"$SLURM_HOSTFILE\"' EXIT\n"
        "cat >\"$SLURM_HOSTFILE\" <<'hosts'\n";
    for (const PlannedHost& host : trial_.hosts)
      for (int i = 0; i < host.rank_count; ++i) text_ += host.host.name + "\n";
    text_ += "hosts\n";
  }

  void add_srun() {
    std::string options = fmt::format(" --ntasks={} --kill-on-bad-exit=1", trial_.world_size);
    if (is_arbitrary_) {
      add_host_file();
      // srun refuses an arbitrary layout if the number of nodes is set.
      text_ += "unset SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_NTASKS_PER_NODE\n";
      options += " --distribution=arbitrary";
      if (components_.front().gpus > 0 && gpus_per_task() > 0)
        options += fmt::format(" --gpus-per-task={}", gpus_per_task());
    } else if (components_.size() > 1) {
      options = fmt::format(" --het-group=0-{} --kill-on-bad-exit=1", components_.size() - 1);
    } else {
      options += " --distribution=block";
    }
    // srun does not inherit this from sbatch (since 22.05); the components of a job differ in it.
    if (const int cpus = cpus_per_task(components_.front()); cpus > 0 && components_.size() == 1)
      options += fmt::format(" --cpus-per-task={}", cpus);
    text_ += fmt::format(
        "srun{} /bin/sh -c '\n"
        "  {}\n"
        "  exec \"$@\"' rank \"$@\"\n",
        options, own_environment());
  }

  const Plan& plan_;
  const std::optional<PlannedContext>& context_;
  const Trial& trial_;
  bool is_per_host_;
  bool is_arbitrary_ = false;
  std::vector<Component> components_;
  std::string text_;
};

}  // namespace

bool slurm_sorts_before(std::string_view left, std::string_view right) {
  while (!left.empty() && !right.empty()) {
    if (!is_digit(left.front()) || !is_digit(right.front())) {
      if (left.front() != right.front()) return left.front() < right.front();
      left.remove_prefix(1);
      right.remove_prefix(1);
      continue;
    }
    const auto digits = [](std::string_view& text) {
      const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
      std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.begin()));
      text.remove_prefix(number.size());
      number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
      return number;
    };
    const std::string_view first = digits(left);
    const std::string_view second = digits(right);
    if (first.size() != second.size()) return first.size() < second.size();
    if (first != second) return first < second;
  }
  return left.size() < right.size();
}

std::string slurm_host_set(const std::vector<std::string>& names) {
  const std::string folded = fold_hosts(names);
  std::string text;
  for (std::size_t begin = 0; begin < folded.size();) {
    const std::size_t end = std::min(folded.find_first_of("[,]", begin), folded.size());
    text += without_step(std::string_view(folded).substr(begin, end - begin));
    if (end < folded.size()) text += folded[end];
    begin = end + 1;
  }
  return text;
}

std::int64_t slurm_cpus(const Quantity& cpus) {
  return (cpus.parts() + Quantity::scale - 1) / Quantity::scale;
}

std::string slurm_memory_option(std::uint64_t bytes) {
  constexpr std::uint64_t mib = 1 << 20;
  return fmt::format("mem={}M", (bytes + mib - 1) / mib);
}

std::string slurm_job_name(std::string_view name) {
  constexpr std::size_t longest = 64;
  std::string job;
  for (const char c : name.substr(0, longest)) {
    const bool is_plain = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          c == '.' || c == '_' || c == '-';
    job += is_plain ? c : '_';
  }
  return job.empty() ? "train" : job;
}

std::string plan_to_slurm(const Plan& plan, const std::optional<PlannedContext>& context) {
  return SlurmScript(plan, context).write();
}

}  // namespace train
