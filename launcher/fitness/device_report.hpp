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
  std::int64_t pid = 0;  ///< as the driver has it; in a container that may be the machine's number
  std::optional<std::uint64_t> used = {};  ///< bytes of the device's memory

  bool operator==(const DeviceProcess&) const = default;
};

/// Rows of a device's memory that were replaced, because they failed.
struct RemappedRows {
  int correctable = 0;    ///< replaced after errors that were corrected
  int uncorrectable = 0;  ///< after errors that were not
  bool pending = false;   ///< further ones are replaced when the GPU is reset
  bool failed = false;    ///< one could not be replaced: the GPU is to be exchanged

  bool operator==(const RemappedRows&) const = default;
};

/// NVLinks of a device.
struct NvLinks {
  int up = 0;
  int down = 0;

  bool operator==(const NvLinks&) const = default;
};

/// Whether a GPU reads the memory of the others of its host by itself ("P2P").
struct PeerAccess {
  int reached = 0;
  int not_reached = 0;
  int why = 0;  ///< of the first that is not reached: nvmlGpuP2PStatus_t

  bool operator==(const PeerAccess&) const = default;
};

/// What NVIDIA's driver wrote of a device into the log of the kernel, the last of it.
struct LastXid {
  int code = 0;
  std::int64_t seconds_ago = 0;

  bool operator==(const LastXid&) const = default;
};

/// Bits of `DeviceFacts::clock_reasons` that mean that a GPU is slowed down by its surroundings:
/// `nvmlClocksEventReasons`.
inline constexpr std::uint64_t clock_hardware_slowdown = 0x08;
inline constexpr std::uint64_t clock_software_thermal = 0x20;
inline constexpr std::uint64_t clock_hardware_thermal = 0x40;
inline constexpr std::uint64_t clock_power_brake = 0x80;

/// What NVIDIA's driver says of one GPU. What it does not tell is nothing, or empty.
struct DeviceFacts {
  int index = 0;  ///< by the order of the PCI bus, of those that this user may use
  std::string uuid = {};
  std::string name = {};
  std::string pci_bus_id = {};  ///< "00000000:07:00.0"
  /// Why this one does not answer, in the driver's words: "GPU is lost"; empty: it does.
  std::string trouble = {};
  std::optional<std::uint64_t> memory_total = {};  ///< bytes
  std::optional<std::uint64_t> memory_free = {};
  std::optional<std::uint64_t> memory_used = {};  ///< without what the driver keeps for itself
  /// Who computes on it; at most `most_device_processes`, and at least one where there is any.
  std::optional<std::vector<DeviceProcess>> processes = {};
  std::optional<std::uint64_t> ecc_uncorrected = {};  ///< errors since the driver was loaded
  std::optional<RemappedRows> remapped = {};
  std::optional<std::uint64_t> clock_reasons = {};  ///< bits of nvmlClocksEventReasons
  std::optional<bool> mig = {};                     ///< it is split into instances
  std::optional<NvLinks> nvlinks = {};
  std::optional<PeerAccess> peers = {};  ///< nothing as well where it is alone
  /// What the driver wants done, nvmlDeviceGpuRecoveryAction_t: 0 nothing, 1 a reset, 2 a reboot, 3
  /// and 4 that its work is drained first.
  std::optional<int> recovery_action = {};
  std::optional<LastXid> xid = {};

  bool operator==(const DeviceFacts&) const = default;
};

/// What NVIDIA's driver says of the GPUs of a host (`train-devices`).
struct DeviceReport {
  std::string driver = {};  ///< its version; empty: not told, or there is no driver
  std::string cuda = {};    ///< the newest CUDA that it takes: "13.0"
  /// Why nothing is said at all: no library, or one that does not match the driver.
  std::string trouble = {};
  std::vector<DeviceFacts> devices = {};  ///< at most `most_gpus`
  /// Why NCCL could not load libibverbs there, by which it takes RDMA; empty: it could.
  std::string verbs_trouble = {};

  bool operator==(const DeviceReport&) const = default;
};

/// The most processes that are told of one device, the bytes of all of them that are beyond the
/// first of each device, and those of a whole line.
inline constexpr std::size_t most_device_processes = 256;
inline constexpr std::size_t longest_device_processes = std::size_t{128} << 10;
inline constexpr std::size_t longest_device_report = std::size_t{1} << 20;

/// As part of another document; the reverse throws `Malformed`.
nlohmann::json json_of(const DeviceReport& report);
DeviceReport device_report_of(const nlohmann::json& value);
/// One line, its end included.
std::string encode_device_report(const DeviceReport& report);
/// The line without its end; class `host` when it is none.
Result<DeviceReport> decode_device_report(std::string_view line);

}  // namespace train
