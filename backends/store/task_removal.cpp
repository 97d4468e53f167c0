// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_removal.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/own_folder.hpp"
#include "backends/store/task_bundle.hpp"

namespace train {

namespace {

constexpr std::string_view prefix = ".removed-";  // task ids have no dot

const std::atomic<bool> never = false;

tl::unexpected<Error> failed(const std::string& path, int error) {
  return fail(ErrorClass::no_input,
              fmt::format("cannot remove '{}': {}", path, system_reason(error)),
              "once that is mended, 'train task prune' removes what is left");
}

}  // namespace

Result<void> set_aside(const std::string& tasks_folder, const std::string& id) {
  const Descriptor folder(::open(tasks_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder && errno == ENOENT) return {};
  if (!folder) return failed(tasks_folder, errno);
  const std::string aside = fmt::format("{}{}", prefix, id);
  const auto rename = [&] {
    return ::renameat(folder.get(), id.c_str(), folder.get(), aside.c_str()) == 0 ? 0 : errno;
  };
  int error = rename();
  // Both exist when a user has restored the folder from a backup.
  if (error == ENOTEMPTY || error == EEXIST) {
    error = remove_tree(folder.get(), aside, never);
    if (error == 0) error = rename();
  }
  if (error != 0 && error != ENOENT) return failed(fmt::format("{}/{}", tasks_folder, id), error);
  return {};
}

Result<void> remove_set_aside(const std::string& tasks_folder, const std::string& id,
                              const std::string& programs) {
  const std::string name = fmt::format("{}{}", prefix, id);
  const std::string path = fmt::format("{}/{}", tasks_folder, name);
  remove_bundle(path, programs);
  const Descriptor folder(::open(tasks_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = folder ? remove_tree(folder.get(), name, never) : errno;
  if (error != 0 && error != ENOENT) return failed(path, error);
  return {};
}

Result<void> remove_all_set_aside(const std::string& tasks_folder, const std::string& programs) {
  Result<void> result;
  for (const std::string& name : names_in(FolderReader(tasks_folder))) {
    if (!name.starts_with(prefix)) continue;
    auto removed = remove_set_aside(tasks_folder, name.substr(prefix.size()), programs);
    if (!removed && result) result = std::move(removed);
  }
  return result;
}

}  // namespace train
