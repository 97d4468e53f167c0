// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the NVIDIA driver's libnvidia-ml.so.1 on machines that have none. The environment
// says what it pretends:
//
//   FAKE_NVML_GPUS="NAME:COUNT,NAME"     the GPUs, in order; nothing: none
//   FAKE_NVML_FAIL="FUNCTION=CODE,..."   functions that fail; FUNCTION@INDEX for one GPU alone
//   FAKE_NVML_UUIDS="GPU-1,GPU-2"        their UUIDs
//   FAKE_NVML_BUSES="9,3"                PCI bus of each GPU; default: index + 1
//   FAKE_NVML_HANG="FUNCTION"            one that never returns
//   FAKE_NVML_CRASH="FUNCTION"           one that ends the process by a signal
//   FAKE_NVML_FACTS="NAME=VALUE,..."     of every GPU: processes (how many), pid (of the first),
//   ecc, reasons, correctable,
//                                        uncorrectable, pending, failed, mig, links, up, recovery,
//                                        used (GiB of memory, 1 at least), p2p (its status
//                                        between any two), busy (percent of time)
//
// What the environment does not say, a file /etc/fake_nvml/NAME may: FAKE_NVML_GPUS for example.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/accelerator/nvml.hpp"
#include "tests/backends/accelerator/fake_setting.hpp"

namespace {

using namespace train::nvml;

constexpr Return invalid_argument = 2;

std::string setting(const char* name) { return fake_setting("/etc/fake_nvml", name); }

std::vector<std::string> words_of(const char* variable) {
  std::vector<std::string> words;
  std::string rest = setting(variable);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    words.push_back(rest.substr(0, comma));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return words;
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const std::string& word : words_of("FAKE_NVML_GPUS")) {
    const std::size_t colon = word.rfind(':');
    const int count = colon == std::string::npos ? 1 : std::atoi(word.c_str() + colon + 1);
    names.insert(names.end(), static_cast<std::size_t>(count), word.substr(0, colon));
  }
  return names;
}

bool is_named(const char* variable, const std::string& function) {
  return function == setting(variable);
}

// A number of FAKE_NVML_FACTS; an old driver tells none of them.
[[maybe_unused]] unsigned int fact(const std::string& name) {
  for (const std::string& word : words_of("FAKE_NVML_FACTS"))
    if (word.starts_with(name + "="))
      return static_cast<unsigned int>(std::atoi(word.c_str() + name.size() + 1));
  return 0;
}

Return failure_of(const std::string& function) {
  while (is_named("FAKE_NVML_HANG", function)) ::pause();
  if (is_named("FAKE_NVML_CRASH", function)) ::raise(SIGSEGV);
  for (const std::string& word : words_of("FAKE_NVML_FAIL")) {
    const std::size_t equals = word.find('=');
    if (word.substr(0, equals) == function) return std::atoi(word.c_str() + equals + 1);
  }
  return success;
}

Return failure_of(const std::string& function, std::size_t index) {
  const Return all = failure_of(function);
  return all != success ? all : failure_of(function + "@" + std::to_string(index));
}

// A handle is the address of a byte, one for each GPU; nobody looks at it.
constexpr std::size_t max_gpus = 4096;
char handles[max_gpus];
Device handle_of(std::size_t index) { return reinterpret_cast<Device>(&handles[index]); }
std::size_t index_of(Device device) {
  return static_cast<std::size_t>(reinterpret_cast<const char*>(device) - handles);
}

int initialised = 0;

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of the library
extern "C" {

Return nvmlInit_v2() {
  const Return failure = failure_of("nvmlInit_v2");
  if (failure == success) ++initialised;
  return failure;
}

Return nvmlShutdown() { return --initialised >= 0 ? success : 1; }

const char* nvmlErrorString(Return code) {
  switch (code) {
    case 4:
      return "Insufficient Permissions";
    case 9:
      return "Driver Not Loaded";
    case 15:
      return "GPU is lost";
    case 18:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

Return nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  std::snprintf(version, length, "535.183.01");
  return failure_of("nvmlSystemGetDriverVersion");
}

Return nvmlDeviceGetCount_v2(unsigned int* count) {
  if (initialised == 0) return 1;
  *count = static_cast<unsigned int>(gpu_names().size());
  return failure_of("nvmlDeviceGetCount_v2");
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned int index, Device* device) {
  if (index >= std::min(gpu_names().size(), max_gpus)) return invalid_argument;
  *device = handle_of(index);
  return failure_of("nvmlDeviceGetHandleByIndex_v2", index);
}

Return nvmlDeviceGetName(Device device, char* name, unsigned int length) {
  std::snprintf(name, length, "%s", gpu_names().at(index_of(device)).c_str());
  return failure_of("nvmlDeviceGetName", index_of(device));
}

Return nvmlDeviceGetUUID(Device device, char* uuid, unsigned int length) {
  const std::size_t index = index_of(device);
  const std::vector<std::string> uuids = words_of("FAKE_NVML_UUIDS");
  if (index < uuids.size())
    std::snprintf(uuid, length, "%s", uuids[index].c_str());
  else
    std::snprintf(uuid, length, "GPU-%08zx-0000-4000-8000-000000000000", index);
  return failure_of("nvmlDeviceGetUUID", index);
}

Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  const unsigned long long used = fact("used") != 0 ? fact("used") : 1;  // GiB
  *memory = {.total = 40ULL << 30, .free = (40 - used) << 30, .used = used << 30};
  return failure_of("nvmlDeviceGetMemoryInfo", index_of(device));
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  const std::size_t index = index_of(device);
  const std::vector<std::string> buses = words_of("FAKE_NVML_BUSES");
  *pci = {};
  pci->bus = index < buses.size() ? static_cast<unsigned int>(std::atoi(buses[index].c_str()))
                                  : static_cast<unsigned int>(index) + 1;
  std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
  return failure_of("nvmlDeviceGetPciInfo_v3", index);
}

#ifndef FAKE_NVML_IS_OLD

// The driver keeps a GiB of what the older function calls used.
Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  if (memory->version != MemoryV2().version) return invalid_argument;
  Memory older;
  const Return answer = nvmlDeviceGetMemoryInfo(device, &older);
  memory->total = older.total;
  memory->reserved = 1ULL << 30;
  memory->free = older.free;
  memory->used = older.used - memory->reserved;
  return answer != success ? answer : failure_of("nvmlDeviceGetMemoryInfo_v2", index_of(device));
}

Return nvmlDeviceGetUtilizationRates(Device device, Utilization* rates) {
  *rates = {fact("busy"), 0};
  return failure_of("nvmlDeviceGetUtilizationRates", index_of(device));
}

Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12'020;
  return failure_of("nvmlSystemGetCudaDriverVersion_v2");
}

Return nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned int* count,
                                               ProcessInfo* infos) {
  const unsigned int there = fact("processes");
  const unsigned int room = *count;
  *count = there;
  if (there > room) return insufficient_size;
  for (unsigned int i = 0; i < there; ++i)
    infos[i] = {(fact("pid") != 0 ? fact("pid") : 1'000) + i, i == 0 ? 1ULL << 30 : ~0ULL, ~0u,
                ~0u};
  return failure_of("nvmlDeviceGetComputeRunningProcesses_v2", index_of(device));
}

// A display server, and the first process that computes, which draws as well.
Return nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned int* count,
                                                ProcessInfo* infos) {
  const unsigned int display = fact("display");  // GiB
  *count = display == 0 ? 0 : 2;
  if (display == 0) return failure_of("nvmlDeviceGetGraphicsRunningProcesses_v2", index_of(device));
  infos[0] = {77, static_cast<unsigned long long>(display) << 30, ~0u, ~0u};
  infos[1] = {1'000, 1ULL << 30, ~0u, ~0u};
  return success;
}

Return nvmlDeviceGetTotalEccErrors(Device device, int error, int counter,
                                   unsigned long long* count) {
  if (error != uncorrected_errors || counter != volatile_errors) return invalid_argument;
  *count = fact("ecc");
  return failure_of("nvmlDeviceGetTotalEccErrors", index_of(device));
}

Return nvmlDeviceGetRemappedRows(Device device, unsigned int* correctable,
                                 unsigned int* uncorrectable, unsigned int* pending,
                                 unsigned int* failed) {
  *correctable = fact("correctable");
  *uncorrectable = fact("uncorrectable");
  *pending = fact("pending");
  *failed = fact("failed");
  return failure_of("nvmlDeviceGetRemappedRows", index_of(device));
}

Return nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* reasons) {
  *reasons = fact("reasons");
  return failure_of("nvmlDeviceGetCurrentClocksEventReasons", index_of(device));
}

Return nvmlDeviceGetMigMode(Device device, unsigned int* current, unsigned int* pending) {
  *current = *pending = fact("mig");
  return failure_of("nvmlDeviceGetMigMode", index_of(device));
}

Return nvmlDeviceGetNvLinkState(Device device, unsigned int link, unsigned int* is_active) {
  if (link >= fact("links")) return invalid_argument;
  *is_active = link < fact("up") ? feature_enabled : 0;
  return failure_of("nvmlDeviceGetNvLinkState", index_of(device));
}

Return nvmlDeviceGetP2PStatus(Device device, Device other, int capability, int* status) {
  if (device == other || capability != p2p_read) return invalid_argument;
  *status = static_cast<int>(fact("p2p"));
  return failure_of("nvmlDeviceGetP2PStatus", index_of(device));
}

Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].status = values[i].field_id == recovery_action_field ? success : not_supported;
    values[i].value_type = unsigned_int_value;
    values[i].value.whole = fact("recovery");
  }
  return failure_of("nvmlDeviceGetFieldValues", index_of(device));
}

#endif

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
