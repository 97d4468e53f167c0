// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/context/context_archive.hpp"
#include "backends/context/context_files.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/ports/context_source.hpp"

namespace train {

/// Reads a context on a thread beside the loop, and packs it there when the first host needs it.
class ContextPacker final : public ContextSource {
 public:
  /// Called once, on a separate thread; returns early when `cancelled`.
  using Read = std::function<Result<ArchivedContext>(const std::atomic<bool>& cancelled)>;
  /// Receives the archive, from the loop, before `on_named`.
  using Keep = std::function<void(std::shared_ptr<const ArchivedContext>)>;

  ContextPacker(
      Loop& loop, Read read, Events events,
      Keep keep = [](const std::shared_ptr<const ArchivedContext>&) {});
  /// Does not block, even when the directory is on a file system that hangs.
  ~ContextPacker() override;
  ContextPacker(const ContextPacker&) = delete;
  ContextPacker& operator=(const ContextPacker&) = delete;

  void pack() override;
  const std::vector<ContextPiece>& pieces() const override { return pieces_; }

 private:
  struct Work;
  void begin(Read read);
  void pack_more();
  void add(const std::string& piece);

  Loop& loop_;
  const Events events_;
  const Keep keep_;
  std::vector<ContextPiece> pieces_;
  bool is_packing_ = false;
  std::shared_ptr<Work> work_;
  Background background_;  ///< destroyed first, because its results use the other members
};

/// The standard output and error of this process, if they are regular files.
std::vector<FileIdentity> own_output_files();

/// Reads a directory, without the files to which this process prints.
ContextPacker::Read reads_directory(const std::string& directory);

}  // namespace train
