// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the NVIDIA driver's libnvidia-ml.so.1 on machines that have none. The environment
// says what it pretends:
//
//   FAKE_NVML_GPUS="NAME:COUNT,NAME"     the GPUs, in order; nothing: none
//   FAKE_NVML_FAIL="FUNCTION=CODE,..."   functions that fail; FUNCTION@INDEX for one GPU alone
//   FAKE_NVML_BUSES="9,3"                PCI bus of each GPU; default: index + 1
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/accelerator/nvml.hpp"

namespace {

using namespace train::nvml;

constexpr Return invalid_argument = 2;

std::vector<std::string> words_of(const char* variable) {
  std::vector<std::string> words;
  const char* value = std::getenv(variable);
  std::string rest = value != nullptr ? value : "";
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

Return failure_of(const std::string& function) {
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
  std::snprintf(uuid, length, "GPU-%08zx-0000-4000-8000-000000000000", index_of(device));
  return failure_of("nvmlDeviceGetUUID", index_of(device));
}

Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  *memory = {.total = 40ULL << 30, .free = 39ULL << 30, .used = 1ULL << 30};
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

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
