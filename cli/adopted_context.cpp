// SPDX-License-Identifier: Apache-2.0
#include "cli/adopted_context.hpp"

#include <fmt/format.h>

#include <utility>

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

ContextSource::Open adopted_context(ContextSource::Open open, std::string directory,
                                    std::string sha256) {
  if (!open) return {};
  return [open = std::move(open), directory = std::move(directory),
          sha256 = std::move(sha256)](ContextSource::Events events) {
    return std::make_unique<AdoptedContext>(open, directory, sha256, std::move(events));
  };
}

}  // namespace train
