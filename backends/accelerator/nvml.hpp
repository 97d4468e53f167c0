// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace train::nvml {

// train-devices has no C++ library: it uses the types and numbers of this file, but no function.

// The part of NVIDIA's management library that is used here, declared after its API reference
// (docs.nvidia.com/deploy/nvml-api): the header is not needed to build. Names and numbers are the
// library's.

using Return = int;
inline constexpr Return success = 0;
inline constexpr Return no_permission = 4;
inline constexpr Return not_supported = 3;
inline constexpr Return insufficient_size = 7;
inline constexpr Return driver_not_loaded = 9;
inline constexpr Return gpu_is_lost = 15;
inline constexpr Return reset_required = 16;
inline constexpr Return lib_rm_version_mismatch = 18;

/// nvmlDevice_t: an opaque handle.
using Device = struct OpaqueDevice*;

/// nvmlMemory_t, in bytes.
struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// nvmlMemory_v2_t, of nvmlDeviceGetMemoryInfo_v2 (since driver 510): `used` is without what the
/// driver keeps for itself, which that of nvmlMemory_t has had since then.
struct MemoryV2 {
  unsigned int version = sizeof(MemoryV2) | 2U << 24;  ///< nvmlMemory_v2
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// nvmlUtilization_t: percent of the time of the last sample, which is between 1/6 s and 1 s long,
/// in which a kernel ran, and in which memory was read or written.
struct Utilization {
  unsigned int gpu = 0;
  unsigned int memory = 0;
};

/// nvmlPciInfo_t as of nvmlDeviceGetPciInfo_v3.
struct PciInfo {
  char bus_id_legacy[16] = {};
  unsigned int domain = 0;
  unsigned int bus = 0;
  unsigned int device = 0;
  unsigned int pci_device_id = 0;
  unsigned int pci_subsystem_id = 0;
  char bus_id[32] = {};
};

/// NVML_DEVICE_NAME_V2_BUFFER_SIZE and NVML_DEVICE_UUID_V2_BUFFER_SIZE.
inline constexpr unsigned int text_size = 96;

/// nvmlProcessInfo_t as of nvmlDeviceGetComputeRunningProcesses_v2 and _v3.
struct ProcessInfo {
  unsigned int pid = 0;
  unsigned long long used_gpu_memory =
      0;  ///< bytes; NVML_VALUE_NOT_AVAILABLE, all ones, if unknown
  unsigned int gpu_instance_id = 0;
  unsigned int compute_instance_id = 0;
};

/// NVML_MEMORY_ERROR_TYPE_UNCORRECTED and NVML_VOLATILE_ECC, of nvmlDeviceGetTotalEccErrors.
inline constexpr int uncorrected_errors = 1;
inline constexpr int volatile_errors = 0;

/// NVML_FEATURE_ENABLED, and NVML_DEVICE_MIG_ENABLE of nvmlDeviceGetMigMode.
inline constexpr unsigned int feature_enabled = 1;

/// nvmlDeviceGetP2PStatus: the capability of reading, and its status values.
inline constexpr int p2p_read = 0;
inline constexpr int p2p_ok = 0;
inline constexpr int p2p_unknown = 6;

/// nvmlFieldValue_t, of nvmlDeviceGetFieldValues.
struct FieldValue {
  unsigned int field_id = 0;
  unsigned int scope_id = 0;
  long long timestamp = 0;
  long long latency_microseconds = 0;
  int value_type = 0;  ///< nvmlValueType_t
  Return status = 0;   ///< of this field; `value` is valid only on success
  union {
    double floating;
    unsigned int whole;
    unsigned long long wide;
  } value = {0};
};
/// NVML_VALUE_TYPE_UNSIGNED_INT, and NVML_FI_DEV_GET_GPU_RECOVERY_ACTION (since driver 565).
inline constexpr int unsigned_int_value = 1;
inline constexpr unsigned int recovery_action_field = 230;

/// The functions, by their exported names without "nvml".
struct Library {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*system_get_driver_version)(char* version, unsigned int length) = nullptr;
  Return (*device_get_count)(unsigned int* count) = nullptr;
  Return (*device_get_handle_by_index)(unsigned int index, Device* device) = nullptr;
  Return (*device_get_name)(Device, char* name, unsigned int length) = nullptr;
  Return (*device_get_uuid)(Device, char* uuid, unsigned int length) = nullptr;
  Return (*device_get_memory_info)(Device, Memory* memory) = nullptr;
  Return (*device_get_pci_info)(Device, PciInfo* pci) = nullptr;
};

/// The result of loading: the library, no library, or an error text.
struct Loaded {
  bool found = false;  ///< the library exists
  std::string error;   ///< why it cannot be used; empty when it can
  Library library;     ///< all functions are set if `found` and `error` is empty
};

/// Loads the library for the rest of the process' life. A miss costs some 25 microseconds.
Loaded load(const std::string& name);

}  // namespace train::nvml
