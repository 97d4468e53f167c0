// SPDX-License-Identifier: Apache-2.0
#include "backends/context/host_contexts.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "backends/context/cache_tidying.hpp"
#include "backends/context/context_limits.hpp"
#include "launcher/wire/frame.hpp"

namespace train {

namespace {

constexpr std::chrono::hours touch_interval{24};
// Packing makes nothing larger but by a little.
constexpr std::uint64_t packing_slack = 1u << 20;

// Signals are the loop's, and the loop's thread's.
std::thread thread_without_signals(std::function<void()> job) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(job));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

int write_whole(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace

HostContexts::HostContexts(Loop& loop, std::vector<std::string> places, std::string key)
    : loop_(loop), places_(std::move(places)), key_(std::move(key)) {}

HostContexts::~HostContexts() {
  self_.reset();
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
  // What the thread has made, and nobody has heard of.
  if (unheard_.cache && !cache_) cache_ = std::move(unheard_.cache);
  if (unheard_.incoming) cache_->forget(*unheard_.incoming);
  if (unheard_.copy) copy_ = std::move(unheard_.copy);
  if (incoming_) cache_->forget(*incoming_);
  if (!copy_) return;
  const std::atomic<bool> to_the_end{false};
  if (is_kept_)
    (void)::futimens(copy_->folder.get(), nullptr);  // its age counts from now
  else
    remove_tree(cache_->runs(), key_, to_the_end);
}

// One job at a time: the next one is only asked for by what the last one handed over.
void HostContexts::in_background(std::function<Done()> job) {
  if (thread_.joinable()) thread_.join();
  thread_ = thread_without_signals(
      [&loop = loop_, job = std::move(job), weak = std::weak_ptr<HostContexts*>(self_)] {
        loop.post([done = job(), weak] {
          if (const auto self = weak.lock()) done(**self);
        });
      });
}

void HostContexts::find(const Context& context, ContextEvents events) {
  context_ = context;
  events_ = std::move(events);
  in_background([this, context]() -> Done {
    unheard_ = search(places_, context, key_, cancelled_);
    return [](HostContexts& self) { self.found(std::exchange(self.unheard_, {})); };
  });
}

// The first place that serves, whatever is in the others: users know where to look for results. A
// packed context that is damaged is removed, and asked for again.
HostContexts::Found HostContexts::search(const std::vector<std::string>& places,
                                         const Context& context, const std::string& key,
                                         const std::atomic<bool>& cancelled) {
  Found found;
  for (const std::string& place : places) {
    auto served = serve(place, context, key, cancelled);
    if (!served) {
      found.reasons += (found.reasons.empty() ? "" : "; ");
      found.reasons += served.error().diagnostics.front().message;
      continue;
    }
    served->reasons = std::move(found.reasons);
    return std::move(*served);
  }
  return found;
}

Result<HostContexts::Found> HostContexts::serve(const std::string& place, const Context& context,
                                                const std::string& key,
                                                const std::atomic<bool>& cancelled) {
  auto cache = HostCache::open(place);
  if (!cache) return tl::make_unexpected(cache.error());
  Found found;
  if (const Descriptor packed = cache->find(context)) {
    auto copy = cache->copy(packed.get(), context, key, cancelled);
    if (!copy) return tl::make_unexpected(copy.error());
    found.copy = std::move(*copy);
    if (!found.copy) cache->remove(context);
  }
  if (!found.copy) {
    auto incoming = cache->begin(context);
    if (!incoming) return tl::make_unexpected(incoming.error());
    found.incoming = std::move(*incoming);
  }
  found.cache = std::move(*cache);
  return found;
}

void HostContexts::found(Found result) {
  cache_ = std::move(result.cache);
  if (result.copy) return finished(std::move(result.copy));
  if (!cache_)
    return fail_with(make_error(ErrorClass::host,
                                fmt::format("no place takes the context ({}): {}",
                                            size_text(context_.size), result.reasons),
                                "make room in one of these places, or let it be written to"));
  incoming_ = std::move(result.incoming);
  events_.on_taken(0);
}

void HostContexts::take(std::string_view piece) {
  // What was on the way when it turned out not to fit, and what nobody announced.
  if (!incoming_ || is_unpacking_) return;
  taken_ += piece.size();
  if (taken_ > context_.size + packing_slack)
    return fail_with(make_error(ErrorClass::host, "the context is longer than it was said to be"));
  if (const int error = write_whole(incoming_->file.get(), piece))
    return fail_with(make_error(
        ErrorClass::host,
        fmt::format("cannot write the context to '{}': {}", cache_->path(), system_reason(error)),
        error == ENOSPC || error == EDQUOT ? "make room there for this user" : ""));
  if (piece.size() < max_context_payload) return unpack();
  // Never from inside this call.
  loop_.post([weak = std::weak_ptr<HostContexts*>(self_), taken = taken_] {
    if (const auto self = weak.lock(); self && (*self)->incoming_) (*self)->events_.on_taken(taken);
  });
}

void HostContexts::unpack() {
  is_unpacking_ = true;
  if (::lseek(incoming_->file.get(), 0, SEEK_SET) != 0)
    return fail_with(make_error(ErrorClass::host, "lseek: " + system_reason(errno)));
  in_background([this]() -> Done {
    auto copy = cache_->copy(incoming_->file.get(), context_, key_, cancelled_);
    if (!copy) return [why = copy.error()](HostContexts& self) { self.fail_with(why); };
    unheard_.copy = std::move(*copy);
    return [](HostContexts& self) { self.finished(std::exchange(self.unheard_, {}).copy); };
  });
}

void HostContexts::finished(std::optional<HostCache::Copy> copy) {
  if (!copy)
    return fail_with(make_error(ErrorClass::host,
                                "the context that came is not the one that was announced",
                                "try again; if it stays so, look for a failing disk or memory"));
  copy_ = std::move(copy);
  if (incoming_) cache_->commit(*incoming_, context_);
  incoming_.reset();
  events_.on_ready(copy_->path);
}

void HostContexts::fail_with(const Error& why) {
  if (incoming_) cache_->forget(*incoming_);
  incoming_.reset();
  loop_.post([weak = std::weak_ptr<HostContexts*>(self_), why] {
    if (const auto self = weak.lock()) (*self)->events_.on_failed(why);
  });
}

void HostContexts::keep() {
  if (!std::exchange(is_kept_, true)) touch_daily();
}

// What is in use for weeks is not old, whatever tidies there, on whatever host.
void HostContexts::touch_daily() {
  if (copy_) (void)::futimens(copy_->folder.get(), nullptr);
  mark_own_binary_used();
  touching_ = loop_.after(touch_interval, [this] { touch_daily(); });
}

void HostContexts::tidy() {
  in_background([this]() -> Done {
    tidy_caches(places_, cancelled_);
    return [](HostContexts&) {};
  });
}

}  // namespace train
