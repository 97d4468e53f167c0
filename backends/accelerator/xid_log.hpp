// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/fitness/device_report.hpp"

namespace train {

/// An Xid: a number by which NVIDIA's driver tells in the log of the kernel what went wrong with a
/// GPU. 79: it has fallen off the bus.
struct Xid {
  int code = 0;
  /// Since the kernel was started, without its sleep: nearly CLOCK_MONOTONIC.
  std::chrono::microseconds at{0};

  bool operator==(const Xid&) const = default;
};

/// The Xid in a record of /dev/kmsg, and the GPU's place on the bus as the driver writes it
/// ("0000:07:00"); nothing when the record has none.
struct LoggedXid {
  std::string bus;
  Xid xid;

  bool operator==(const LoggedXid&) const = default;
};
std::optional<LoggedXid> xid_in(std::string_view record);

/// The last Xid of each GPU in the log of the kernel, by its place on the bus; none where the log
/// may not be read, which most systems let only administrators do. At most `most_gpus`.
std::map<std::string, Xid> last_xids(const std::string& log = "/dev/kmsg");
/// The same, of a log that is open: each read gives one record, and none blocks.
std::map<std::string, Xid> last_xids(int log);

/// Tells of each device its last Xid, at a moment of the same clock.
void add_xids(const std::map<std::string, Xid>& xids, std::chrono::microseconds now,
              DeviceReport& report);

}  // namespace train
