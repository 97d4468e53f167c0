// SPDX-License-Identifier: Apache-2.0
#include "backends/context/context_keeper.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

#include "backends/context/cache_tidying.hpp"
#include "backends/context/context_files.hpp"
#include "backends/posix/own_folder.hpp"

namespace train {

namespace {

// Packing adds at most this many bytes.
constexpr std::uint64_t packing_slack = 1u << 20;

}  // namespace

Result<ContextKeeper::Progress> ContextKeeper::find(const Context& context) {
  context_ = context;
  search_.emplace(places_, context, key_);
  held_ = search_->first(cancelled_);
  if (!held_) return tl::make_unexpected(no_place());
  if (held_->copy) return finished();
  return Progress{};
}

Result<ContextKeeper::Progress> ContextKeeper::take(const std::vector<std::string>& pieces) {
  for (const std::string& piece : pieces) {
    auto taken = take_piece(piece);
    if (!taken) forget();
    if (!taken) return tl::make_unexpected(taken.error());
    if (piece.size() < context_piece_size) return unpack();
  }
  return Progress{taken_};
}

Result<void> ContextKeeper::take_piece(const std::string& piece) {
  if (taken_ + piece.size() > context_.size + packing_slack)
    return fail(ErrorClass::host, "the context is longer than it was said to be");
  while (true) {
    const auto written = held_->cache.write(*held_->incoming, piece);
    if (written) break;
    // The bytes received so far are copied to the next place, so that nothing is sent again.
    if (auto moved = move({held_->incoming->file.get(), taken_, false}, written.error()); !moved)
      return moved;
  }
  taken_ += piece.size();
  return {};
}

Result<void> ContextKeeper::move(const PlaceSearch::Received& received, const Error& why) {
  auto next = search_->next(received, why, cancelled_);
  forget();
  held_ = std::move(next);
  if (!held_) return tl::make_unexpected(no_place());
  return {};
}

Result<ContextKeeper::Progress> ContextKeeper::unpack() {
  const int file = held_->incoming->file.get();
  auto copy = held_->cache.copy(file, context_, key_, cancelled_);
  if (copy) {
    held_->copy = std::move(*copy);
  } else if (auto moved = move({file, taken_, true}, copy.error()); !moved) {
    return tl::make_unexpected(moved.error());
  }
  return finished();
}

Result<ContextKeeper::Progress> ContextKeeper::finished() {
  if (!held_->copy) {
    forget();
    return fail(ErrorClass::host, "the context that came is not the one that was announced",
                "try again; if it stays so, look for a failing disk or memory");
  }
  search_.reset();
  if (held_->incoming) held_->cache.commit(*held_->incoming, context_);
  held_->incoming.reset();
  return Progress{taken_, held_->copy->path};
}

Error ContextKeeper::no_place() const {
  return make_error(ErrorClass::host,
                    fmt::format("no place takes the context ({}): {}", size_text(context_.size),
                                search_->reasons()),
                    "make room in one of these places, or let it be written to");
}

void ContextKeeper::touch() const {
  if (held_ && held_->copy) (void)::futimens(held_->copy->folder.get(), nullptr);
  mark_own_binary_used();
}

void ContextKeeper::tidy() const { tidy_caches(places_, cancelled_); }

void ContextKeeper::end(bool keep_copy) {
  // An adopted copy has results of ranks of an earlier agent, and always stays.
  if (held_ && held_->copy && (keep_copy || held_->is_adopted)) {
    (void)::futimens(held_->copy->folder.get(), nullptr);  // its age counts from now
    held_->copy.reset();
  }
  forget();
}

void ContextKeeper::forget() {
  if (held_ && held_->incoming) held_->cache.forget(*held_->incoming);
  if (held_ && held_->copy) held_->cache.remove_copy(key_);
  held_.reset();
}

}  // namespace train
