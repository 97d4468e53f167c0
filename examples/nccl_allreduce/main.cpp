// SPDX-License-Identifier: Apache-2.0
// One rank of a measurement of NCCL's all-reduce: reads what its launcher says, takes its GPU,
// meets the other ranks, and measures size after size. Rank 0 prints.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "examples/nccl_allreduce/communicator.hpp"
#include "examples/nccl_allreduce/figures.hpp"
#include "examples/nccl_allreduce/gpu.hpp"
#include "examples/nccl_allreduce/measurement.hpp"
#include "examples/nccl_allreduce/rendezvous.hpp"
#include "examples/nccl_allreduce/settings.hpp"
#include "examples/nccl_allreduce/watchdog.hpp"

namespace nccl_allreduce {
namespace {

constexpr std::chrono::seconds time_to_leave{10};

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return "this host";
  name.resize(name.find('\0'));
  return name;
}

/// Says on standard error what has happened to this rank.
ExitCode complain(const Settings& settings, const Failure& failure) {
  std::fprintf(stderr, "nccl_allreduce: rank %d on %s: %s\n", settings.rank, host_name().c_str(),
               failure.message.c_str());
  return failure.code;
}

void print(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);  // each row when it is known
}

/// Appends to the metrics of the task, in one piece as `train` wants it; false when it cannot be.
bool report(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_written =
      ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(fd);
  return is_written;
}

/// What rank 0 does with the rows.
class Table {
 public:
  explicit Table(const Settings& settings) : settings_(settings) {}

  void begin(const Nccl& nccl, const Gpu& gpu) const {
    print("# NCCL " + nccl.version_text() + ", " + std::to_string(settings_.world_size) +
          (settings_.world_size == 1 ? " rank" : " ranks") + ", " + gpu.name() +
          " on rank 0; sums of floats, out of place");
    print(table_head());
  }

  void add(const Row& row) {
    print(table_line(row));
    ++step_;
    if (settings_.metrics_file.empty() || report(settings_.metrics_file, report_line(row, step_)))
      return;
    if (std::exchange(is_warned_, true)) return;
    std::fprintf(stderr, "nccl_allreduce: warning: cannot append to '%s' (TRAIN_METRICS_FILE)\n",
                 settings_.metrics_file.c_str());
  }

  void end(const std::vector<Row>& rows) const {
    if (rows.back().bytes * settings_.sizes.factor <= settings_.sizes.max_bytes)
      print("# larger sizes are left out: the GPUs lack the memory for them");
    print(summary_line(rows, settings_.world_size));
  }

 private:
  const Settings& settings_;
  int step_ = 0;
  bool is_warned_ = false;
};

/// The id by which NCCL brings the ranks together, on every rank.
Result<Token> meet(const Settings& settings, const Nccl& nccl) {
  Meeting meeting{settings.master_address, settings.master_port, settings.rank,
                  settings.world_size};
  meeting.job =
      digest_of(settings.job + " " + std::to_string(settings.sizes.min_bytes) + " " +
                std::to_string(settings.sizes.max_bytes) + " " +
                std::to_string(settings.sizes.factor) + " " + std::to_string(settings.iterations));
  meeting.nccl_version = static_cast<std::uint32_t>(nccl.version);
  meeting.limit = settings.timeout;
  if (settings.rank != 0) return fetch(meeting);
  auto token = nccl.make_token();
  if (!token) return token;
  if (auto handed = hand_out(meeting, *token); !handed) return handed.failure();
  return token;
}

ExitCode run(const Settings& settings) {
  Watchdog watchdog([&](const std::string& step) {
    complain(
        settings,
        {step +
         " has taken more than its time: a rank or its GPU hangs or was lost, or the network is "
         "cut; see what the other ranks say, or give it more with --timeout"});
    std::_Exit(static_cast<int>(ExitCode::failed));  // the thread that hangs cannot be woken
  });
  watchdog.begin("taking the GPU", settings.timeout);
  auto gpu = Gpu::open(settings);
  if (!gpu) return complain(settings, gpu.failure());
  auto nccl = Nccl::load(settings.library);
  if (!nccl) return complain(settings, nccl.failure());
  // Its own limit comes first; names that nobody resolves take longer than that.
  watchdog.begin("meeting the other ranks", settings.timeout * 2 + std::chrono::seconds(30));
  auto token = meet(settings, *nccl);
  if (!token) return complain(settings, token.failure());
  watchdog.begin("joining the other ranks", settings.timeout);
  auto ranks = Communicator::join(*nccl, *token, settings.rank, settings.world_size);
  if (!ranks) return complain(settings, ranks.failure());

  Table table(settings);
  if (settings.rank == 0) table.begin(*nccl, *gpu);
  auto rows = measure(settings, *gpu, *ranks, watchdog, [&](const Row& row) {
    if (settings.rank == 0) table.add(row);
  });
  watchdog.begin("leaving the other ranks", time_to_leave);
  if (!rows) return complain(settings, rows.failure());
  if (auto left = ranks->leave(); !left) return complain(settings, left.failure());
  if (settings.rank == 0) table.end(*rows);
  return ExitCode::success;
}

ExitCode run(const std::vector<std::string>& flags) {
  auto settings =
      read_settings(flags, [](const char* name) -> const char* { return std::getenv(name); });
  if (!settings) return complain(Settings(), settings.failure());
  if (!settings->help) return run(*settings);
  std::fputs(help_text, stdout);
  return ExitCode::success;
}

}  // namespace
}  // namespace nccl_allreduce

int main(int argc, char** argv) {
  return static_cast<int>(nccl_allreduce::run(std::vector<std::string>(argv + 1, argv + argc)));
}
