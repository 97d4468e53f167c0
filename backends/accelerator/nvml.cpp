// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/nvml.hpp"

#include <dlfcn.h>

#include <cstring>

namespace train::nvml {
namespace {

/// Finds functions one after the other and remembers the first that is missing.
class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  template <class Function>
  void find(Function*& function, const char* name) {
    void* address = dlsym(handle_, name);
    if (address == nullptr && missing_.empty()) missing_ = name;
    std::memcpy(&function, &address, sizeof function);
  }

  const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

bool means_no_such_library(const std::string& dl_error, const std::string& name) {
  // dlopen has no error number; this is its text if no directory has the file itself. A missing
  // library that `name` depends on is reported under that other name.
  return dl_error.starts_with(name + ": cannot open shared object file: No such file");
}

}  // namespace

Loaded load(const std::string& name) {
  Loaded loaded;
  // The library is never closed: the driver's libraries keep state of their own, and closing gains
  // nothing.
  void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* words = dlerror();
    loaded.error = words != nullptr ? words : "dlopen failed";
    loaded.found = !means_no_such_library(loaded.error, name);
    return loaded;
  }
  loaded.found = true;
  Symbols symbols(handle);
  Library& library = loaded.library;
  symbols.find(library.init, "nvmlInit_v2");
  symbols.find(library.shutdown, "nvmlShutdown");
  symbols.find(library.error_string, "nvmlErrorString");
  symbols.find(library.system_get_driver_version, "nvmlSystemGetDriverVersion");
  symbols.find(library.device_get_count, "nvmlDeviceGetCount_v2");
  symbols.find(library.device_get_handle_by_index, "nvmlDeviceGetHandleByIndex_v2");
  symbols.find(library.device_get_name, "nvmlDeviceGetName");
  symbols.find(library.device_get_uuid, "nvmlDeviceGetUUID");
  symbols.find(library.device_get_memory_info, "nvmlDeviceGetMemoryInfo");
  symbols.find(library.device_get_pci_info, "nvmlDeviceGetPciInfo_v3");
  if (!symbols.missing().empty()) loaded.error = name + " has no function " + symbols.missing();
  return loaded;
}

}  // namespace train::nvml
