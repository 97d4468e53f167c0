// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/report_tools.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "launcher/rendezvous/rank_environment.hpp"

namespace train {

// Checks for the files each time: a rank of an earlier trial may have removed them.
Result<void> ReportTools::make() {
  const std::lock_guard lock(mutex_);
  const auto is_there = [this](const char* name) {
    return ::faccessat(AT_FDCWD, (path() + "/" + name).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  };
  const bool has_program = is_there(report_program_name);
  const bool has_module = is_there(report_module_name);
  if (has_program && has_module) return {};
  const auto made = directory_.make_run_directory(key_, HostDirectory::shared);
  if (!made) return tl::make_unexpected(made.error());
  if (!has_module) {
    auto written =
        directory_.write_file(key_, report_module_name, report_module(), HostDirectory::shared);
    if (!written) return written;
  }
  if (has_program) return {};
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  return directory_.link_file(key_, report_program_name, program, HostDirectory::shared);
}

}  // namespace train
