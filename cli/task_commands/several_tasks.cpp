// SPDX-License-Identifier: Apache-2.0
#include "cli/task_commands/several_tasks.hpp"

#include <algorithm>
#include <array>

#include "cli/terminal/talk.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

// The error class of an exit code, which may come from another process.
ErrorClass class_of(int code) {
  constexpr std::array classes = {ErrorClass::usage, ErrorClass::no_input, ErrorClass::missing,
                                  ErrorClass::busy,  ErrorClass::host,     ErrorClass::interrupted};
  const auto* const found = std::find_if(classes.begin(), classes.end(), [code](ErrorClass each) {
    return exit_code_of(each).value() == code;
  });
  return found == classes.end() ? ErrorClass::bug : *found;
}

}  // namespace

void Outcomes::add(ExitCode code) {
  ++count_;
  if (code.value() != 0) ++failed_;
  worst_ = std::max(worst_, code.value());
}

ExitCode Outcomes::report_all(std::string_view trouble) const {
  if (failed_ == 0) return ExitCode();
  talk(terminal_text("{} of {} {}", failed_, counted(count_, "task"), trouble));
  talk(verdict(class_of(worst_), ExitCode(worst_)));
  return ExitCode(worst_);
}

}  // namespace train
