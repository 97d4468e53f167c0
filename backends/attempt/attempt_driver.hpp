// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/attempt/gpu_memory_wait.hpp"
#include "backends/attempt/host_check.hpp"
#include "backends/attempt/lease_queue.hpp"
#include "backends/attempt/rank_starter.hpp"
#include "backends/attempt/stop_file.hpp"
#include "backends/attempt/subreaper.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "backends/inspect/rank_inspection.hpp"
#include "backends/network/probe_responder.hpp"
#include "backends/observe/end_inquiry.hpp"
#include "backends/observe/gpu_watch.hpp"
#include "backends/observe/metrics_files.hpp"
#include "backends/observe/port_watch.hpp"
#include "backends/observe/usage_watch.hpp"
#include "backends/process/agent_means.hpp"
#include "backends/process/worker.hpp"
#include "launcher/agent/agent_events.hpp"

namespace train {

/// What the attempts of one agent share.
struct AttemptSurroundings {
  Loop& loop;
  const HostDirectory& directory;
  std::string key;
  AgentMeans means;
  std::optional<rlimit> open_files;  ///< the limit for ranks
  std::shared_ptr<AgentRecorder> recorder;
  std::shared_ptr<ReportTools> tools;
  LeaseQueue& leases;
  FileChanges& changes;
  IdleSubreapers& subreapers;
  GpuWatch& gpus;
};

/// Carries out what `Agent` decides about one attempt: its ranks, its ports and files, and the
/// subreaper above all its processes. The destructor kills processes that are left and releases the
/// ports.
class AttemptDriver {
 public:
  struct Events {
    std::function<RankCommand(int rank)> command_of;
    /// Called from the loop, never from inside a call to this object.
    std::function<void(const AgentEvent& event)> on_event;
  };

  AttemptDriver(const AttemptSurroundings& surroundings, AttemptId of, Events events);
  ~AttemptDriver();
  AttemptDriver(const AttemptDriver&) = delete;
  AttemptDriver& operator=(const AttemptDriver&) = delete;

  void check_host(const message::Prepare& prepare);
  void probe_hosts(const agent_action::ProbeHosts& asked);
  void take_leases();
  void release_ports();
  void start_rank(int rank);
  void watch_gpus();
  void look_at_ranks(bool wants_states);
  void make_stop_file();
  void terminate_rank(int rank, int signal);
  void kill_tree();
  void pause_reading();
  void resume_reading();

 private:
  Subreaper::Events subreaper_events();
  RankStarter::Events starter_events();
  void call_soon(std::function<void()> what);
  void checked(const std::shared_ptr<CheckedHost>& host,
               const std::shared_ptr<message::Prepare>& prepare);
  void await_memory(GpuMemoryWait::Then then);
  void report_checked(const std::shared_ptr<CheckedHost>& host);
  void report_blocked();
  void rank_started(int rank, const SpawnedProcess& process);
  void rank_not_started(int rank, const Error& why);
  void process_ended(int pid, const ExitStatus& status);
  void rank_ended(int rank, const ExitStatus& status);
  void look_into_end(const agent_event::RankEnded& end, const EndedRank& rank);
  void look_at_ports(const agent_event::RankEnded& end);
  void report_end(const agent_event::RankEnded& end);
  void all_gone(std::vector<Survivor> survivors);
  void note_hanging_check();
  void settle_soon();
  void settle();
  void end_lost_ranks();
  void fail_waiting_ranks();
  void fail_check(std::vector<Diagnostic> problems);
  void give_up_cleaning();
  std::string hanging_call() const;
  Diagnostic end_of_subreaper() const;
  void finish_kill();

  Loop& loop_;
  const AttemptSurroundings& surroundings_;
  const AttemptId of_;
  Events events_;
  const std::shared_ptr<FileCalls> calls_ = std::make_shared<FileCalls>();
  Subreaper subreaper_;
  StopFile stop_file_;
  std::unique_ptr<Background> work_;  ///< checks, then starts; null once all are gone
  EndInquiry end_inquiry_;
  MetricsFiles metrics_files_;
  std::shared_ptr<const GpuWatch::Reader> gpus_;  ///< while ranks have GPUs
  UsageWatch usage_watch_;
  RankInspection inspection_;
  RankStarter starter_;
  GpuWait gpu_wait_;
  bool has_nvidia_gpus_ = false;
  GpuMemoryWait memory_wait_;
  std::vector<PortHold> ports_;
  std::optional<PortWatch> port_watch_;
  std::unique_ptr<ProbeResponder> responder_;  ///< until the ranks start
  Background prober_;
  std::string run_directory_;
  std::string checkpoints_;                         ///< empty: nothing new is looked for there
  std::optional<nanoseconds> newest_checkpoint_;    ///< before the ranks started
  std::map<int, std::string> working_directories_;  ///< by rank
  std::map<int, std::unique_ptr<Worker>> workers_;  ///< by rank
  std::set<int> starting_;                          ///< ranks without a started or failed event yet
  std::map<int, ExitStatus> early_ends_;  ///< by pid, of processes whose start is not known yet
  std::unique_ptr<Subscription> blocked_timer_;
  std::unique_ptr<Subscription> kill_timer_;
  std::set<int> ending_;  ///< ranks whose end is posted and not handled yet
  bool is_checking_ = false;
  std::shared_ptr<CheckedHost> checked_early_;  ///< reported once the subreaper's remains are gone
  bool is_reading_paused_ = false;
  int ends_pending_ = 0;  ///< ranks that have ended and are not reported to the launcher yet
  bool is_killing_ = false;
  bool is_stopping_ = false;                        ///< ranks have got their stop signal
  std::optional<std::vector<Survivor>> gone_;       ///< survivors, until the last starts are known
  std::optional<std::vector<Survivor>> survivors_;  ///< set once everything else is gone
  /// Posted callbacks hold a weak_ptr to it, to find out whether this still exists.
  const std::shared_ptr<int> existence_ = std::make_shared<int>(0);
};

}  // namespace train
