// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// A process that computes on a device.
struct DeviceProcess {
  /// As the driver reports it; inside a container that may be the pid on the host machine.
  std::int64_t pid = 0;
  std::optional<std::uint64_t> used = {};  ///< bytes of the device's memory

  bool operator==(const DeviceProcess&) const = default;
};

/// Rows of a device's memory that were remapped because they failed.
struct RemappedRows {
  int correctable = 0;    ///< remapped after corrected errors
  int uncorrectable = 0;  ///< remapped after uncorrected errors
  bool pending = false;   ///< further rows will be remapped when the GPU is reset
  bool failed = false;    ///< a row could not be remapped: the GPU must be replaced

  bool operator==(const RemappedRows&) const = default;
};

/// The NVLinks of a device.
struct NvLinks {
  int up = 0;
  int down = 0;

  bool operator==(const NvLinks&) const = default;
};

/// Whether a GPU can access the memory of the other GPUs of its host directly ("P2P").
struct PeerAccess {
  int reached = 0;
  int not_reached = 0;
  int why = 0;  ///< the reason for the first that it cannot access: nvmlGpuP2PStatus_t

  bool operator==(const PeerAccess&) const = default;
};

/// The last error that NVIDIA's driver wrote about a device into the kernel's log.
struct LastXid {
  int code = 0;
  std::int64_t seconds_ago = 0;

  bool operator==(const LastXid&) const = default;
};

/// Bits of `DeviceFacts::clock_reasons` that mean that a GPU is slowed down by external conditions:
/// `nvmlClocksEventReasons`.
inline constexpr std::uint64_t clock_hardware_slowdown = 0x08;
inline constexpr std::uint64_t clock_software_thermal = 0x20;
inline constexpr std::uint64_t clock_hardware_thermal = 0x40;
inline constexpr std::uint64_t clock_power_brake = 0x80;

/// What NVIDIA's driver reports about one GPU. Values that it does not report are nothing, or
/// empty.
struct DeviceFacts {
  int index = 0;  ///< in PCI bus order, among those that this user may use
  std::string uuid = {};
  std::string name = {};
  std::string pci_bus_id = {};  ///< "00000000:07:00.0"
  /// Why this GPU does not answer, in the driver's words: "GPU is lost"; empty if it answers.
  std::string trouble = {};
  std::optional<std::uint64_t> memory_total = {};  ///< bytes
  std::optional<std::uint64_t> memory_free = {};
  /// Without what the driver keeps for itself, and what processes take that only draw.
  std::optional<std::uint64_t> memory_used = {};
  /// The processes that compute on it: at most `most_device_processes`, and at least one if there
  /// are any.
  std::optional<std::vector<DeviceProcess>> processes = {};
  std::optional<std::uint64_t> ecc_uncorrected = {};  ///< errors since the driver was loaded
  std::optional<RemappedRows> remapped = {};
  std::optional<std::uint64_t> clock_reasons = {};  ///< bits of nvmlClocksEventReasons
  std::optional<bool> mig = {};                     ///< split into MIG instances
  std::optional<NvLinks> nvlinks = {};
  std::optional<PeerAccess> peers = {};  ///< nothing also if it is the only GPU
  /// The action that the driver recommends, nvmlDeviceGpuRecoveryAction_t: 0 none, 1 reset, 2
  /// reboot, 3 and 4 drain its work first.
  std::optional<int> recovery_action = {};
  std::optional<LastXid> xid = {};

  bool operator==(const DeviceFacts&) const = default;
};

/// What NVIDIA's driver reports about the GPUs of a host (`train-devices`).
struct DeviceReport {
  std::string driver = {};  ///< its version; empty: unknown, or no driver
  std::string cuda = {};    ///< the newest CUDA that it supports: "13.0"
  /// Why there is no report: no library, or one that does not match the driver.
  std::string trouble = {};
  std::vector<DeviceFacts> devices = {};  ///< at most `most_gpus`
  /// Why NCCL could not load libibverbs, which it needs for RDMA; empty if it could.
  std::string verbs_trouble = {};

  bool operator==(const DeviceReport&) const = default;
};

/// The maximum number of processes that are reported for one device; the maximum bytes of all
/// processes beyond the first of each device; and the maximum bytes of a whole line.
inline constexpr std::size_t most_device_processes = 256;
inline constexpr std::size_t longest_device_processes = std::size_t{128} << 10;
inline constexpr std::size_t longest_device_report = std::size_t{1} << 20;

/// As part of another document; the inverse throws `Malformed`.
nlohmann::json json_of_devices(const DeviceReport& report);
DeviceReport devices_of_json(const nlohmann::json& value);
/// One line, including its newline.
std::string encode_device_report(const DeviceReport& report);
/// Takes the line without its newline; class `host` if it is not a report.
Result<DeviceReport> decode_device_report(std::string_view line);

}  // namespace train
