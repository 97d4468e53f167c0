// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/event_loop/background.hpp"
#include "backends/event_loop/loop.hpp"
#include "config_schema/text/error.hpp"

namespace train {

/// Searches for programs in a PATH, each name once and not in the loop's thread: the PATH may have
/// folders of a network file system.
class ProgramSearch {
 public:
  ProgramSearch(Loop& loop, std::string search_path)
      : loop_(loop), search_path_(std::move(search_path)), disk_(loop) {}

  /// Calls back from the loop, and never from inside this call, with the absolute path, or with an
  /// error of class `missing` or `host`.
  using OnProgram = std::function<void(const Result<std::string>&)>;
  void find(const std::string& name, OnProgram on_program);

 private:
  struct Search {
    std::optional<Result<std::string>> found;
    std::vector<OnProgram> waiting;
  };

  void tell(const std::string& name, Result<std::string> found);

  Loop& loop_;
  const std::string search_path_;
  std::map<std::string, Search> searches_;
  Background disk_;
};

}  // namespace train
