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

// Makes no file that is there.
Result<void> ReportTools::write(const char* name, const std::string& text) {
  if (is_there(name)) return {};
  const auto made = directory_.make_run_directory(key_, HostDirectory::shared);
  if (!made) return tl::make_unexpected(made.error());
  return directory_.write_file(key_, name, text, HostDirectory::shared);
}

// Checks for the files each time: a rank of an earlier trial may have removed them.
Result<void> ReportTools::make(bool with_hang_stacks) {
  const std::lock_guard lock(mutex_);
  auto written = write(report_module_name, report_module());
  if (written && with_hang_stacks) written = write(hang_stacks_module_name, hang_stacks_module());
  if (!written || is_there(report_program_name)) return written;
  const auto made = directory_.make_run_directory(key_, HostDirectory::shared);
  if (!made) return tl::make_unexpected(made.error());
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  return directory_.link_file(key_, report_program_name, program, HostDirectory::shared);
}

}  // namespace train
