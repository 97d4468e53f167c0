// SPDX-License-Identifier: Apache-2.0
#include "backends/command/program_search.hpp"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "backends/process/programs.hpp"

namespace train {

void ProgramSearch::find(const std::string& name, OnProgram on_program) {
  const auto [at, is_new] = searches_.try_emplace(name);
  Search& search = at->second;
  if (search.found)
    return loop_.post(
        [on_program = std::move(on_program), found = *search.found] { on_program(found); });
  search.waiting.push_back(std::move(on_program));
  if (!is_new) return;
  const auto found = std::make_shared<Result<std::string>>();
  const auto look = [found, name, path = search_path_] {
    std::error_code ignored;
    *found = find_program(name, path, std::filesystem::current_path(ignored).string());
  };
  const auto begun = disk_.run(look, [this, found, name] { tell(name, *found); });
  if (!begun) tell(name, tl::make_unexpected(begun.error()));
}

void ProgramSearch::tell(const std::string& name, Result<std::string> found) {
  Search& search = searches_.at(name);
  search.found = std::move(found);
  for (OnProgram& waiting : std::exchange(search.waiting, {})) find(name, std::move(waiting));
}

}  // namespace train
