// SPDX-License-Identifier: Apache-2.0
#include "backends/process/error_files.hpp"

#include <chrono>
#include <utility>

#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"

namespace train {

namespace {

constexpr std::chrono::seconds patience{2};
constexpr std::size_t longest_error_file = 64u << 10;

}  // namespace

void ErrorFiles::read(const std::string& path, std::function<void(std::string text)> done) {
  const int number = next_++;
  Reading& reading = readings_[number];
  reading.done = std::move(done);
  const auto text = std::make_shared<std::string>();
  const auto begun =
      background_.run([path, text] { *text = read_small_file(path, longest_error_file); },
                      [this, number, text] { answer(number, *text); });
  // Without a thread nobody reads the file: then the answer is no text, at once.
  reading.limit = loop_.after(begun ? nanoseconds(patience) : nanoseconds(0),
                              [this, number] { answer(number, {}); });
}

void ErrorFiles::answer(int number, std::string text) {
  auto reading = readings_.extract(number);
  if (!reading.empty()) reading.mapped().done(std::move(text));
}

}  // namespace train
