// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "backends/accelerator/gpu_count.hpp"
#include "tests/temporary_directory.hpp"

namespace train {

// A host whose kernel shows what a test puts there.
class FakeHost {
 public:
  FakeHost() {
    files.proc = root.path() + "/proc";
    files.sys = root.path() + "/sys";
    files.dev = root.path() + "/dev";
    files.nvidia_modprobe = root.path() + "/nvidia-modprobe";
    files.wsl_library = root.path() + "/libcuda.so.1";
  }

  void write(const std::string& file, const std::string& text = "") const {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  void device(const std::string& name) const { write(files.dev + "/" + name); }
  void nvidia(const std::string& bus, int minor, const std::string& uuid = "GPU-????????",
              const std::string& more = "") const {
    write(files.proc + "/driver/nvidia/gpus/" + bus + "/information",
          "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 42\nGPU UUID: \t " + uuid +
              "\nBus Location: \t " + bus + "\nDevice Minor: \t " + std::to_string(minor) + "\n" +
              more);
  }
  // Four of them, with all their files.
  void four_of_nvidia() const {
    device("nvidiactl");
    for (int i = 0; i < 4; ++i) {
      nvidia("0000:0" + std::to_string(i + 1) + ":00.0", i, "GPU-" + std::to_string(i) + "abc");
      device("nvidia" + std::to_string(i));
    }
  }
  void amd(int node, int simds, int cores, std::uint64_t memory, int minor = 128,
           std::uint64_t unique = 0) const {
    const std::string folder = files.sys + "/class/kfd/kfd/topology/nodes/" + std::to_string(node);
    write(folder + "/properties", "cpu_cores_count " + std::to_string(cores) + "\nsimd_count " +
                                      std::to_string(simds) + "\ndrm_render_minor " +
                                      std::to_string(minor) + "\nunique_id " +
                                      std::to_string(unique) + "\n");
    write(folder + "/mem_banks/0/properties",
          "heap_type 1\nsize_in_bytes " + std::to_string(memory) + "\n");
  }

  HostGpus count(const std::map<std::string, std::string>& session = {}) const {
    return count_gpus(session, files);
  }

  TemporaryDirectory root;
  GpuFiles files;
};

}  // namespace train
