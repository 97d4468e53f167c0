// SPDX-License-Identifier: Apache-2.0
#include "backends/event_loop/file_changes.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <utility>

namespace train {

struct FileChanges::Watch final : Subscription {
  Watch(FileChanges& changes, int of_file, std::function<void()> when_written)
      : all(changes),
        file(of_file),
        callback(std::make_shared<std::function<void()>>(std::move(when_written))) {
    all.watches_[file].push_back(this);
  }
  ~Watch() override {
    const auto watchers = all.watches_.find(file);
    watchers->second.remove(this);
    if (!watchers->second.empty()) return;
    all.watches_.erase(watchers);
    (void)::inotify_rm_watch(all.inotify_.get(), file);
  }

  FileChanges& all;
  const int file;
  const std::shared_ptr<std::function<void()>> callback;
};

std::unique_ptr<Subscription> FileChanges::when_written(const std::string& path,
                                                        std::function<void()> callback) {
  if (!inotify_) {
    inotify_ = Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!inotify_) return nullptr;
    readable_ = loop_.when_readable(inotify_.get(), [this] { read(); });
  }
  const int file = ::inotify_add_watch(inotify_.get(), path.c_str(), IN_MODIFY | IN_DONT_FOLLOW);
  if (file < 0) return nullptr;
  return std::make_unique<Watch>(*this, file, std::move(callback));
}

// Callbacks are posted, because they may end their own watch or any other.
void FileChanges::read() {
  alignas(inotify_event) char buffer[4096];
  std::set<int> written;
  for (ssize_t size; (size = ::read(inotify_.get(), buffer, sizeof buffer)) > 0;) {
    for (ssize_t at = 0; at < size;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      written.insert(event.wd);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  const bool has_lost_some = written.contains(-1);  // the kernel's queue was full
  for (const auto& [file, watchers] : watches_)
    if (has_lost_some || written.contains(file))
      for (Watch* const watch : watchers)
        loop_.post([callback = std::weak_ptr(watch->callback)] {
          if (const auto written_to = callback.lock()) (*written_to)();
        });
}

}  // namespace train
