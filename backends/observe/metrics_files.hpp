// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/file_changes.hpp"

namespace train {

/// Reads what ranks append to their metrics files, while they run, on a thread beside the loop: a
/// rank may have put anything in place of its file. Appended bytes are reported at once, at most 50
/// times a second; if the kernel does not notify of them (the file was replaced, or no inotify
/// watches are left), within two seconds, and sooner while more bytes come. Only regular files are
/// read; a file that became shorter or was replaced is read from its beginning.
class MetricsFiles {
 public:
  using OnMetrics = std::function<void(int rank, std::string_view bytes)>;

  /// `on_metrics` is called from the loop.
  MetricsFiles(Loop& loop, FileChanges& changes, OnMetrics on_metrics)
      : loop_(loop), changes_(changes), on_metrics_(std::move(on_metrics)), background_(loop) {}
  MetricsFiles(const MetricsFiles&) = delete;
  MetricsFiles& operator=(const MetricsFiles&) = delete;

  /// Starts to read the metrics file of this rank at `path`, which must exist.
  void watch(int rank, const std::string& path);
  /// Call it when the rank has ended: reports the rest of its file, 64 MiB at most, the first 1 MiB
  /// of it even while paused. Then calls `done` from the loop; also when nothing could be read for
  /// two seconds.
  void finish(int rank, std::function<void()> done);
  /// Stops reading the files of ranks that have not ended.
  void forget_all();
  /// Nothing is read while paused.
  void pause();
  void resume();

 private:
  struct File;
  struct Look;
  struct Ending {
    std::function<void()> done;
    std::unique_ptr<Subscription> limit;
    std::size_t told = 0;  ///< bytes
  };

  void await_changes();
  void changed(int rank);
  void note_change();
  void look();
  void look_soon();
  void look_later();
  void looked(const Look& look);
  void be_patient(int rank);
  void end(int rank);

  Loop& loop_;
  FileChanges& changes_;
  OnMetrics on_metrics_;
  std::map<int, std::shared_ptr<File>> files_;  ///< of ranks that run, by rank
  std::map<int, Ending> endings_;
  std::map<int, std::unique_ptr<Subscription>> next_changes_;  ///< of those files, by rank
  bool has_changed_ = false;                                   ///< since the last look began
  bool is_looking_ = false;
  bool is_paused_ = false;
  nanoseconds pause_ = std::chrono::milliseconds(250);  ///< before the next look
  std::unique_ptr<Subscription> next_look_;
  Background background_;
};

}  // namespace train
