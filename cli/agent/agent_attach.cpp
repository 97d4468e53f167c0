// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/agent_attach.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "backends/accelerator/cpu_topology.hpp"
#include "backends/accelerator/gpu_count.hpp"
#include "backends/accelerator/gpu_users.hpp"
#include "backends/accelerator/xid_log.hpp"
#include "backends/agent/agent_process.hpp"
#include "backends/agent/attach.hpp"
#include "backends/agent/sweep.hpp"
#include "backends/attempt/rank_process.hpp"
#include "backends/context/host_contexts.hpp"
#include "backends/fitness/fitness_check.hpp"
#include "backends/posix/child.hpp"
#include "backends/posix/files.hpp"
#include "backends/results/result_sender.hpp"
#include "backends/visits/host_inspection.hpp"
#include "backends/visits/host_wait.hpp"
#include "backends/visits/rank_exec.hpp"
#include "cli/agent/embedded_devices.hpp"
#include "launcher/frames/line_buffer.hpp"
#include "launcher/talks/sweep_report.hpp"

namespace train {

namespace {

// Time for a guard to clean up after its agent; the launcher waits for 10 s.
constexpr std::chrono::seconds guard_patience{3};

// Without persistence mode, a driver takes some seconds to answer for eight idle GPUs.
constexpr std::chrono::seconds devices_limit{15};
// Bounds the delay of a launch; the processes that this user can see are known without the driver.
constexpr std::chrono::seconds users_limit{5};

// Writes the error without the "train:" prefix and verdict: the launcher adds its own.
ExitCode send_error(const Error& error) {
  const std::string text = render(error) + "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  return exit_code_of(error.error_class);
}

Result<HostDirectory> host_directory(const std::string& key) {
  const char* path = std::getenv("TRAIN_HOST_DIRECTORY");  // tests; train-environment(7)
  const bool is_given = path != nullptr && *path != '\0';
  return is_given ? HostDirectory::open(path) : HostDirectory::find(key);
}

RankCgroups rank_cgroups() {
  const char* wish = std::getenv("TRAIN_HOST_CGROUPS");  // tests; train-environment(7)
  const bool is_off = wish != nullptr && std::string_view(wish) == "none";
  return is_off ? RankCgroups::none : RankCgroups::where_possible;
}

/// The processes that compute on GPUs: those that this user can see and, if the user may not
/// inspect all processes, those that the driver reports. The driver's answer is cached for half a
/// minute: a waiting launcher asks often, and each query wakes idle GPUs.
class CachedGpuUsers {
 public:
  std::vector<LeaseHolder> users() {
    std::vector<LeaseHolder> users = gpu_users();
    if (!may_miss_gpu_users()) return users;
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (!asked_ || now - *asked_ > std::chrono::seconds(30)) {
      asked_ = now;
      // If the driver does not answer, the report lacks only what it lacked without the driver.
      devices_ = ask_devices(embedded_devices(), users_limit).value_or(DeviceReport());
    }
    add_gpu_users(devices_, users);
    return users;
  }

 private:
  std::mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> asked_;
  DeviceReport devices_;
};

// What is needed to find the host's resources and their holders.
AgentMeans inspection_means() {
  AgentMeans means;
  means.count_gpus = [] { return count_gpus(session_environment()); };
  means.name_gpus = [] {
    GpuIdentities identities = gpu_identities();
    return GpuNames{std::move(identities.cuda), std::move(identities.rocm),
                    std::move(identities.cuda_type)};
  };
  means.look_at_cpus = [] { return look_at_cpus(allowed_cpus()); };
  means.gpu_users = [cached = std::make_shared<CachedGpuUsers>()] { return cached->users(); };
  means.ask_devices = [] { return ask_devices(embedded_devices(), devices_limit); };
  if (const char* folder = std::getenv("TRAIN_LEASE_DIRECTORY"))  // tests; train-environment(7)
    means.lease_folder = folder;
  return means;
}

std::vector<std::string> own_cache_places() {
  const char* home = std::getenv("HOME");
  return cache_places(home == nullptr ? "" : home);
}

// The driver's report, with the errors (Xids) that it wrote to the kernel's log.
Result<DeviceReport> devices_here() {
  auto report = ask_devices(embedded_devices(), devices_limit);
  if (report && !report->devices.empty())
    add_xids(last_xids(),
             std::chrono::duration_cast<std::chrono::microseconds>(
                 std::chrono::steady_clock::now().time_since_epoch()),
             *report);
  return report;
}

// A failed write becomes only an exit code: the reader is gone, so there is nowhere to report it.
ExitCode print_answer(const std::string& text) {
  return write_whole(STDOUT_FILENO, text) == 0 ? ExitCode() : exit_code_of(ErrorClass::host);
}

}  // namespace

HostReport inspect_this_machine() { return inspect_host(inspection_means()); }

ExitCode agent_wait_command(const std::string& key) {
  const auto waited = wait_in_line(key, inspection_means(), STDIN_FILENO, STDOUT_FILENO);
  return waited ? ExitCode() : send_error(waited.error());
}

ExitCode agent_look_command(const std::string& word) {
  const auto directory = lease_directory_of_look(word);
  if (!directory) return send_error(directory.error());
  return print_answer(encode_host_report(inspect_host(inspection_means(), *directory)));
}

ExitCode agent_check_command() {
  LineBuffer text;
  std::optional<std::string_view> line;
  while (!(line = text.next()) && text.rest().size() <= longest_fitness_request) {
    char buffer[4'096];
    const ssize_t count = read_some(STDIN_FILENO, buffer, sizeof buffer);
    if (count <= 0) break;  // the launcher is gone
    text.feed({buffer, static_cast<std::size_t>(count)});
  }
  const auto request = decode_fitness_request(line.value_or(text.rest()));
  if (!request) return send_error(request.error());
  auto devices = devices_here();
  AgentMeans means = inspection_means();
  means.gpu_users = [&] {
    std::vector<LeaseHolder> users = gpu_users();
    if (devices) add_gpu_users(*devices, users);
    return users;
  };
  HostFitness fitness = check_fitness(*request, means);
  if (devices)
    fitness.devices = std::move(*devices);
  else
    fitness.devices_trouble = devices.error().diagnostics.front().message;
  return print_answer(encode_host_fitness(fitness));
}

ExitCode agent_sweep_command(const std::string& key) {
  const auto directory = host_directory(key);
  if (!directory) return send_error(directory.error());
  const auto sweep = sweep_agent(*directory, key, guard_patience);
  if (!sweep) return send_error(sweep.error());
  SweepReport report{sweep->is_running, sweep->found_state, sweep->ended, {}};
  for (const Survivor& survivor : sweep->survivors)
    report.survivors.push_back({survivor.pid, survivor.uid, survivor.command});
  return print_answer(encode_sweep_report(report));
}

ExitCode agent_exec_command(const std::string& key) {
  const auto directory = host_directory(key);
  if (!directory) return send_error(directory.error());
  exec_beside_rank(*directory, key, STDIN_FILENO, STDOUT_FILENO);
  return ExitCode();
}

ExitCode agent_get_command(const std::string& key) {
  if (const auto legal = HostDirectory::check_key(key); !legal) return send_error(legal.error());
  send_results(own_cache_places(), key, STDIN_FILENO, STDOUT_FILENO);
  return ExitCode();
}

ExitCode agent_reattach_command(const std::string& key) {
  const auto directory = host_directory(key);
  if (!directory) return send_error(directory.error());
  const auto ended = reattach(*directory, key);
  return ended ? ExitCode() : send_error(ended.error());
}

namespace {

// Where Slurm cancels a job, it signals the launcher in it, and perhaps the agents. It kills what
// is left after 30 s (KillWait).
constexpr std::chrono::seconds launcher_patience{2};

bool is_in_slurm_job() { return std::getenv("SLURM_JOB_ID") != nullptr; }

// Whether this process is the one that Slurm has started for a step.
bool is_process_of_step() {
  const char* process = std::getenv("SLURM_TASK_PID");
  return process != nullptr && process == std::to_string(::getpid());
}

}  // namespace

ExitCode agent_attach_command(const AgentAttachFlags& flags) {
  if (flags.open_files) set_open_files_limit(*flags.open_files);
  // The launcher on this host is about to stop the ranks through this connection.
  if (is_in_slurm_job()) (void)::signal(SIGTERM, SIG_IGN);
  const auto directory = host_directory(flags.key);
  if (!directory) return send_error(directory.error());
  const auto ended = attach(
      *directory, flags.key,
      [&](int listening_socket, const GuardedBy& guard) {
        AgentMeans means = inspection_means();
        means.make_contexts = [&](Loop& loop) {
          return std::make_unique<HostContexts>(loop, own_cache_places(), flags.key);
        };
        means.fence = &guard.fence;
        means.guard = guard.keep;
        if (is_in_slurm_job()) means.signal_patience = launcher_patience;
        means.cgroups = rank_cgroups();
        means.start_gpu_watch = [](std::chrono::seconds pause) {
          return start_gpu_watch(embedded_devices(), pause);
        };
        return run_agent_process(listening_socket, *directory, flags.key, means);
      },
      is_process_of_step());
  if (!ended) return send_error(ended.error());
  // Exits without destructors: the agent is another process, and nothing here needs an ordered
  // shutdown.
  ::_exit(*ended);
}

}  // namespace train
