// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/stop_file.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "launcher/agent/launch_values.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds stop_patience{1};

}  // namespace

void StopFile::make(const HostDirectory& directory, const std::string& key, AttemptId of,
                    std::function<void(const std::string& why)> failed) {
  const std::string name = stop_file_name(of.attempt);
  const auto made = std::make_shared<Result<void>>();
  is_making_ = true;
  failed_ = std::move(failed);
  limit_ = loop_.after(stop_patience, [this, path = directory.run_directory(key, of.trial)] {
    settle(fail(ErrorClass::host, fmt::format("the file system of '{}' does not answer", path)));
  });
  const auto begun =
      background_.run([made, name, key, trial = of.trial,
                       where = &directory] { *made = where->write_file(key, name, "", trial); },
                      [this, made] { settle(*made); });
  if (!begun) settle(begun);
}

void StopFile::then(std::function<void()> next) {
  if (!is_making_) return next();
  waiting_.push_back(std::move(next));
}

void StopFile::settle(const Result<void>& made) {
  if (!std::exchange(is_making_, false)) return;
  limit_.reset();
  if (!made)
    loop_.post([failed = failed_, why = made.error().diagnostics.front().message] { failed(why); });
  for (const auto& next : std::exchange(waiting_, {})) next();
}

}  // namespace train
