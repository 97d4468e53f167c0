// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/report_writer.hpp"
#include "cli/talk.hpp"

namespace train {

ExitCode report_command(const ReportFlags& flags) {
  const auto written = write_report(flags.words, flags.step);
  if (!written) return report(written.error());
  if (!written->empty()) talk(terminal_text("{}", *written));
  return ExitCode();
}

}  // namespace train
