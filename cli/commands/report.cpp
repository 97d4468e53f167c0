// SPDX-License-Identifier: Apache-2.0
#include "cli/agent/measure.hpp"
#include "cli/agent/once_per_host.hpp"
#include "cli/agent/report_writer.hpp"
#include "cli/request/commands.hpp"
#include "cli/terminal/talk.hpp"

namespace train {

ExitCode report_command(const ReportFlags& flags) {
  const auto written = write_report(flags.words, flags.step);
  if (!written) return report(written.error());
  if (!written->empty()) talk(terminal_text("{}", *written));
  return ExitCode();
}

ExitCode once_per_host_command(const OncePerHostFlags& flags) {
  const auto code = run_once_per_host({flags.command, flags.name});
  return code ? ExitCode(*code) : report(code.error());
}

ExitCode measure_links_command() {
  const auto line = measure_links_of_task();
  return line ? answer(*line) : report(line.error());
}

ExitCode measure_allreduce_command(const std::string& python) {
  const auto line = measure_allreduce_of_task(python);
  return line ? answer(*line) : report(line.error());
}

}  // namespace train
