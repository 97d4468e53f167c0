// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/fitness/device_report.hpp"

namespace train {

/// An Xid: the number of a GPU error that NVIDIA's driver writes to the kernel's log. 79: the GPU
/// has fallen off the bus.
struct Xid {
  int code = 0;
  /// Time since boot, without suspended time: nearly CLOCK_MONOTONIC.
  std::chrono::microseconds at{0};

  bool operator==(const Xid&) const = default;
};

/// The Xid in a record of /dev/kmsg, and the GPU's place on the bus as the driver writes it
/// ("0000:07:00").
struct LoggedXid {
  std::string bus;
  Xid xid;

  bool operator==(const LoggedXid&) const = default;
};
/// `nullopt` when the record has no Xid.
std::optional<LoggedXid> xid_in(std::string_view record);

/// The last Xid of each GPU in the kernel's log, by its place on the bus; empty if the log may not
/// be read, which most systems allow only administrators. At most `most_gpus`.
std::map<std::string, Xid> last_xids(const std::string& log = "/dev/kmsg");
/// The same for an open log: each read must return one record and not block.
std::map<std::string, Xid> last_xids(int log);

/// Sets the last Xid of each device; `now` is a time of the same clock.
void add_xids(const std::map<std::string, Xid>& xids, std::chrono::microseconds now,
              DeviceReport& report);

}  // namespace train
