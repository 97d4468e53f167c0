// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/context/context_files.hpp"
#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "config_schema/text/error.hpp"
#include "launcher/context/context.hpp"

namespace train {

/// What is known of a context once it was read.
struct ContextSummary {
  Context context;
  std::size_t files = 0;
  std::uint64_t bytes = 0;            ///< of all files
  std::vector<std::string> warnings;  ///< a line each
};

/// A piece of the packed context, as a frame that all hosts share.
struct ContextPiece {
  std::shared_ptr<const std::string> frame;
  std::uint64_t end = 0;  ///< bytes of the packed context up to its end
  bool is_last = false;
};

/// Reads a directory beside the loop, and packs it there when the first host lacks it.
class ContextPacker {
 public:
  /// Callbacks come from the loop, never from inside a call, and not after the packer is gone.
  struct Events {
    std::function<void(const ContextSummary&)> on_named;
    std::function<void(const Error&)> on_failed;  ///< instead of `on_named`
    std::function<void()> on_piece;               ///< there is one more of `pieces`
  };

  ContextPacker(Loop& loop, const std::string& directory, std::vector<FileIdentity> own_output,
                Events events);
  /// Waits for nothing, also where the directory is on a file system that does not answer.
  ~ContextPacker();
  ContextPacker(const ContextPacker&) = delete;
  ContextPacker& operator=(const ContextPacker&) = delete;

  /// Makes the pieces, which come one after the other. After `on_named`.
  void pack();
  const std::vector<ContextPiece>& pieces() const { return pieces_; }

 private:
  struct Work;
  void read(const std::string& directory, std::vector<FileIdentity> own_output);
  void pack_more();
  void add(const std::string& piece);

  Loop& loop_;
  const Events events_;
  std::vector<ContextPiece> pieces_;
  bool is_packing_ = false;
  std::shared_ptr<Work> work_;
  Background background_;  ///< last: what it delivers uses the others
};

/// The standard output and error of this process, where they are files.
std::vector<FileIdentity> own_output_files();

}  // namespace train
