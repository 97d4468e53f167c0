// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config_schema/text/error.hpp"

namespace train {

/// One accelerator of this machine, as its driver describes it.
struct Accelerator {
  int index = 0;  ///< position in PCI bus order, which is CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID
  std::string name;          ///< from the driver: "NVIDIA A100-SXM4-40GB"
  std::string type;          ///< Ray's constant: "A100"
  std::string uuid;          ///< "GPU-..."
  std::string pci_bus_id;    ///< "00000000:07:00.0"; empty if not known
  std::uint64_t memory = 0;  ///< bytes; 0 if not known

  bool operator==(const Accelerator&) const = default;
};

/// Where accelerators are searched for; tests point it elsewhere.
struct AcceleratorSource {
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string pci_devices = "/sys/bus/pci/devices";
};

/// The NVIDIA GPUs of this machine that this user may use, in PCI bus order, through the driver's
/// own library (NVML). Empty if the machine does not have that library, or has it but neither
/// driver nor GPU. A library that exists and fails is an error of class `host`, with NVML's text.
Result<std::vector<Accelerator>> list_accelerators(const AcceleratorSource& source = {});

}  // namespace train
