// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/report_tools.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "launcher/rendezvous/rank_environment.hpp"

namespace train {

bool ReportTools::is_there(const char* name) const {
  return ::faccessat(AT_FDCWD, (path() + "/" + name).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// Makes no file that is there. `make` makes it, in the folder, which exists by then.
Result<void> ReportTools::add(const char* name, const std::function<Result<void>()>& make) const {
  if (is_there(name)) return {};
  const auto made = directory_.make_run_directory(key_, HostDirectory::shared);
  if (!made) return tl::make_unexpected(made.error());
  return make();
}

// Checks for the files each time: a rank of an earlier trial may have removed them.
Result<void> ReportTools::make(bool with_hang_stacks) {
  const std::lock_guard lock(mutex_);
  const auto add_module = [this](const char* name, std::string (&text)()) {
    return add(name,
               [&] { return directory_.write_file(key_, name, text(), HostDirectory::shared); });
  };
  auto done = add_module(report_module_name, report_module);
  if (done && with_hang_stacks) done = add_module(hang_stacks_module_name, hang_stacks_module);
  if (!done) return done;
  return add(report_program_name, [this] {
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    return directory_.link_file(key_, report_program_name, program, HostDirectory::shared);
  });
}

}  // namespace train
