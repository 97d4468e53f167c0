// SPDX-License-Identifier: Apache-2.0
#include "cli/supervisor/adopted_context.hpp"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "backends/context/sha256_digest.hpp"
#include "backends/store/task_bundle.hpp"

namespace train {

namespace {

class AdoptedContext final : public ContextSource {
 public:
  AdoptedContext(const Open& open, std::string directory, std::string sha256, Events events)
      : directory_(std::move(directory)), sha256_(std::move(sha256)), events_(std::move(events)) {
    source_ = open({[this](const ContextSummary& summary) { named(summary); }, events_.on_failed,
                    events_.on_piece});
  }

  void pack() override {
    if (!has_changed_) source_->pack();
  }
  const std::vector<ContextPiece>& pieces() const override { return source_->pieces(); }

 private:
  void named(ContextSummary summary) {
    has_changed_ = !sha256_.empty() && summary.context.sha256 != sha256_;
    if (has_changed_) {
      summary.context.sha256 = sha256_;
      summary.warnings = {fmt::format(
          "the context '{}' has changed since the launch: hosts go on with what they have, and one "
          "that lacks it cannot be prepared",
          directory_)};
    }
    events_.on_named(summary);
  }

  std::string directory_;
  std::string sha256_;
  Events events_;
  bool has_changed_ = false;
  std::unique_ptr<ContextSource> source_;
};

}  // namespace

ContextPacker::Read reads_kept_context(std::string bundle, ContextRecord recorded,
                                       const std::string& directory) {
  return [bundle = std::move(bundle), recorded = std::move(recorded),
          read = reads_directory(directory)](const std::atomic<bool>& cancelled) {
    ArchivedContext kept;
    if (!recorded.sha256.empty()) kept.archive = read_context(bundle);
    if (kept.archive.empty() || sha256_of(kept.archive) != recorded.sha256) return read(cancelled);
    kept.context = {recorded.sha256, kept.archive.size()};
    kept.files = static_cast<std::size_t>(recorded.files);
    kept.bytes = static_cast<std::uint64_t>(recorded.bytes);
    return Result<ArchivedContext>(std::move(kept));
  };
}

ContextSource::Open adopted_context(Loop& loop, std::string directory, ContextRecord recorded,
                                    std::string bundle) {
  std::string sha256 = recorded.sha256;
  const auto read = reads_kept_context(std::move(bundle), std::move(recorded), directory);
  return adopted_context(
      [&loop, read](ContextSource::Events events) {
        return std::make_unique<ContextPacker>(loop, read, std::move(events));
      },
      std::move(directory), std::move(sha256));
}

ContextSource::Open adopted_context(ContextSource::Open open, std::string directory,
                                    std::string sha256) {
  if (!open) return {};
  return [open = std::move(open), directory = std::move(directory),
          sha256 = std::move(sha256)](ContextSource::Events events) {
    return std::make_unique<AdoptedContext>(open, directory, sha256, std::move(events));
  };
}

}  // namespace train
