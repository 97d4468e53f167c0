// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launcher/frames/json_fields.hpp"

namespace train {

using nlohmann::json;

namespace {

// A command has at most 200 bytes, which take four times as much if they are not text.
constexpr std::size_t most_written_survivors = 50;
constexpr int most_processes = 1 << 22;

SweepReport report_of(const json& value) {
  SweepReport report;
  report.is_running = bool_field(value, "running");
  report.found_state = bool_field(value, "state");
  report.ended = int_field(value, "ended", 0, most_processes);
  for (const json& survivor : array_field(value, "survivors"))
    report.survivors.push_back({number_field(survivor, "pid"), number_field(survivor, "uid"),
                                text_field(survivor, "command")});
  return report;
}

}  // namespace

std::string encode_sweep_report(const SweepReport& report) {
  json value{{"running", report.is_running},
             {"state", report.found_state},
             {"ended", report.ended},
             {"survivors", json::array()}};
  for (const message::Survivor& survivor : report.survivors)
    if (value["survivors"].size() < most_written_survivors)
      value["survivors"].push_back({{"pid", survivor.pid},
                                    {"uid", survivor.uid},
                                    {"command", from_bytes(survivor.command)}});
  return value.dump() + "\n";
}

Result<SweepReport> decode_sweep_report(std::string_view line) {
  return decode_document<SweepReport>(line, longest_sweep_report,
                                      "what the host answered is no report", report_of);
}

}  // namespace train
