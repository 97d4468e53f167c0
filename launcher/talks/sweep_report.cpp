// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/sweep_report.hpp"

#include "launcher/wire/message_limits.hpp"

namespace train {

namespace {

// A command has at most 200 bytes, which take four times as much if they are not text.
constexpr std::size_t most_written_survivors = 50;
constexpr int most_processes = 1 << 22;

}  // namespace

void fields(auto& f, Described<SweepReport> auto& report) {
  f.flag("running", report.is_running);
  f.flag("state", report.found_state);
  f.number("ended", report.ended, 0, most_processes);
  f.cut_list("survivors", report.survivors, most_written_survivors);
}

std::string encode_sweep_report(const SweepReport& report) { return line_of_fields(report); }

Result<SweepReport> decode_sweep_report(std::string_view line) {
  return decode_fields<SweepReport>(line, longest_sweep_report,
                                    "what the host answered is no report");
}

}  // namespace train
