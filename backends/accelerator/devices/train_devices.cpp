// SPDX-License-Identifier: Apache-2.0
// train-devices: prints the information of NVIDIA's driver about its GPUs, as one line of JSON on
// standard output (launcher/fitness/device_report.hpp). Its exit code is 0 if it has written that
// line, even if the line reports an error, and 1 if not. With the argument "allreduce" it is one
// rank of a measurement instead (allreduce.hpp).
//
// With the arguments "watch SECONDS" it writes what the GPUs do, as a line of JSON
// (launcher/agent/gpu_use.hpp) at once and then every so many seconds. It ends with code 0 when its
// standard input does, or if there is no GPU or no library, and with 1 when nobody reads it.
//
// A field is omitted if the library lacks its function or refuses the call. Names and numbers of
// the functions are those of NVIDIA's reference (docs.nvidia.com/deploy/nvml-api).
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "backends/accelerator/devices/allreduce.hpp"
#include "backends/accelerator/devices/line.hpp"
#include "backends/accelerator/devices/loading.hpp"
#include "backends/accelerator/nvml.hpp"

namespace train::devices {

namespace {

using namespace nvml;

constexpr unsigned int most_devices = 1'024;  // `most_gpus`
constexpr std::size_t longest_text = text_size;
constexpr std::size_t longest_trouble = 500;  // of the whole library
constexpr unsigned int most_processes = 256;  // `most_device_processes`
constexpr unsigned int most_asked_processes = 4'096;
constexpr unsigned int most_links = 64;                            // NVML_NVLINK_MAX_LINKS is 18
constexpr std::size_t longest_processes = std::size_t{128} << 10;  // `longest_device_processes`
constexpr unsigned long long largest = ~0ULL >> 1;  // readers accept no more; it means "unknown"

Line line;
ProcessInfo processes[most_asked_processes];
ProcessInfo graphics_processes[most_asked_processes];

/// NVML's functions by their names.
class Nvml {
 public:
  explicit Nvml(void* library) : library_(library) {}

  /// Calls a function; returns `not_supported` if the library does not have it.
  template <class... Arguments>
  Return operator()(const char* name, Arguments... arguments) const {
    Return (*function)(Arguments...) = nullptr;
    void* address = ::dlsym(library_, name);
    if (address == nullptr) return not_supported;
    std::memcpy(&function, &address, sizeof function);
    return function(arguments...);
  }
  /// NVML's text for a status.
  const char* words(Return status) const {
    const char* (*function)(Return) = nullptr;
    void* address = ::dlsym(library_, "nvmlErrorString");
    if (address == nullptr) return "unknown error";
    std::memcpy(&function, &address, sizeof function);
    const char* said = function(status);
    return said != nullptr ? said : "unknown error";
  }

 private:
  void* library_;
};

/// A GPU and its place on the PCI bus. A GPU that does not report its place gets its predecessor's.
struct Place {
  unsigned long long place = 0;
  Device device = nullptr;
  Return reached = success;  ///< otherwise `device` is not valid
};
Place places[most_devices];

/// Describes one GPU as a JSON object.
class Description {
 public:
  /// `count`: how many GPUs `places` has.
  Description(const Nvml& nvml, unsigned int index, unsigned int count)
      : nvml_(nvml), device_(places[index].device), index_(index), count_(count) {}

  void write() {
    text("uuid", "nvmlDeviceGetUUID");
    text("name", "nvmlDeviceGetName");
    bus();
    memory();
    ecc();
    clock_reasons();
    mig();
    recovery_action();
    remapped();
    links();
    peers();
    running();
    trouble(why_);
  }
  /// Describes a GPU that cannot be reached.
  static void write_unreachable(const char* why) {
    line.raw(",\"uuid\":\"\",\"name\":\"\",\"pci_bus_id\":\"\"");
    trouble(why);
  }

 private:
  static void key(const char* name) {
    line.raw(",\"");
    line.raw(name);
    line.raw("\":");
  }
  static void number(const char* name, unsigned long long value) {
    if (value > largest) return;
    key(name);
    line.number(value);
  }
  static void truth(const char* name, bool value) {
    key(name);
    line.raw(value ? "true" : "false");
  }
  static void trouble(const char* why) {
    key("trouble");
    line.text(why, longest_text);
  }

  // Whether a call succeeded. Also remembers the text if the GPU is lost, which any call may
  // report.
  bool told(Return status) {
    if (status == gpu_is_lost || status == reset_required) why_ = nvml_.words(status);
    return status == success;
  }

  void text(const char* name, const char* function) {
    char value[text_size] = {};
    if (!told(nvml_(function, device_, static_cast<char*>(value), text_size))) value[0] = '\0';
    key(name);
    line.text(value, longest_text);
  }
  void bus() {
    PciInfo pci;
    if (!told(nvml_("nvmlDeviceGetPciInfo_v3", device_, &pci))) pci.bus_id[0] = '\0';
    key("pci_bus_id");
    line.text(pci.bus_id, sizeof pci.bus_id);
  }
  void memory() {
    Memory memory;
    if (!told(nvml_("nvmlDeviceGetMemoryInfo", device_, &memory))) return;
    number("memory_total", memory.total);
    number("memory_free", memory.free);
    MemoryV2 exact;
    const bool is_exact = told(nvml_("nvmlDeviceGetMemoryInfo_v2", device_, &exact));
    memory_used_ = is_exact ? exact.used : memory.used;
  }
  void ecc() {
    unsigned long long count = 0;
    if (told(nvml_("nvmlDeviceGetTotalEccErrors", device_, uncorrected_errors, volatile_errors,
                   &count)))
      number("ecc_uncorrected", count);
  }
  void clock_reasons() {
    unsigned long long bits = 0;
    // The second function is the name before driver 535.
    if (told(nvml_("nvmlDeviceGetCurrentClocksEventReasons", device_, &bits)) ||
        told(nvml_("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &bits)))
      number("clock_reasons", bits);
  }
  void mig() {
    unsigned int current = 0;
    unsigned int pending = 0;
    if (told(nvml_("nvmlDeviceGetMigMode", device_, &current, &pending)))
      truth("mig", current == feature_enabled);
  }
  void recovery_action() {
    FieldValue field;
    field.field_id = recovery_action_field;
    if (told(nvml_("nvmlDeviceGetFieldValues", device_, 1, &field)) && told(field.status) &&
        field.value_type == unsigned_int_value && field.value.whole <= ~0u >> 1)
      number("recovery_action", field.value.whole);
  }
  void remapped() {
    unsigned int correctable = 0;
    unsigned int uncorrectable = 0;
    unsigned int pending = 0;
    unsigned int failed = 0;
    if (!told(nvml_("nvmlDeviceGetRemappedRows", device_, &correctable, &uncorrectable, &pending,
                    &failed)))
      return;
    line.raw(",\"remapped\":{\"correctable\":");
    line.number(correctable & ~0u >> 1);
    number("uncorrectable", uncorrectable & ~0u >> 1);
    truth("pending", pending != 0);
    truth("failed", failed != 0);
    line.raw("}");
  }
  // Links are numbered from 0, without gaps: stops at the first that the GPU does not have.
  void links() {
    unsigned int up = 0;
    unsigned int link = 0;
    for (; link < most_links; ++link) {
      unsigned int is_active = 0;
      if (!told(nvml_("nvmlDeviceGetNvLinkState", device_, link, &is_active))) break;
      if (is_active == feature_enabled) ++up;
    }
    if (link == 0) return;
    line.raw(",\"nvlinks\":{\"up\":");
    line.number(up);
    number("down", link - up);
    line.raw("}");
  }
  // Counts the GPUs whose memory this GPU can read directly. Skips GPUs for which the call fails.
  void peers() {
    unsigned int reached = 0;
    unsigned int not_reached = 0;
    int why = p2p_ok;
    for (unsigned int other = 0; other < count_; ++other) {
      if (other == index_ || places[other].reached != success) continue;
      int status = p2p_ok;
      if (!told(nvml_("nvmlDeviceGetP2PStatus", device_, places[other].device, p2p_read, &status)))
        continue;
      ++(status == p2p_ok ? reached : not_reached);
      if (why == p2p_ok) why = status;
    }
    if (reached + not_reached == 0) return;
    line.raw(",\"peers\":{\"reached\":");
    line.number(reached);
    number("not_reached", not_reached);
    number("why", why < 0 ? p2p_unknown : why);
    line.raw("}");
  }
  // How many there are; nothing is known of more than there is room for. Tries version 2 before
  // version 3: in some drivers of the 535 series, version 3 writes larger records.
  std::optional<unsigned int> ask_processes(const char* version_2, const char* version_3,
                                            ProcessInfo* there) {
    unsigned int count = most_asked_processes;
    Return status = nvml_(version_2, device_, &count, there);
    if (status == not_supported) {
      count = most_asked_processes;
      status = nvml_(version_3, device_, &count, there);
    }
    if (!told(status) || count > most_asked_processes) return std::nullopt;
    return count;
  }
  // Bytes that a display server and other processes take that do not compute.
  unsigned long long used_by_graphics(unsigned int computing) {
    const auto count = ask_processes("nvmlDeviceGetGraphicsRunningProcesses_v2",
                                     "nvmlDeviceGetGraphicsRunningProcesses_v3",
                                     static_cast<ProcessInfo*>(graphics_processes));
    unsigned long long used = 0;
    for (unsigned int i = 0; i < count.value_or(0); ++i) {
      const ProcessInfo& each = graphics_processes[i];
      const bool computes =
          std::any_of(std::begin(processes), std::begin(processes) + computing,
                      [&](const ProcessInfo& other) { return other.pid == each.pid; });
      if (!computes && each.used_gpu_memory != ~0ULL) used += each.used_gpu_memory;
    }
    return used;
  }
  void running() {
    const auto known = ask_processes("nvmlDeviceGetComputeRunningProcesses_v2",
                                     "nvmlDeviceGetComputeRunningProcesses_v3",
                                     static_cast<ProcessInfo*>(processes));
    if (memory_used_) {
      const unsigned long long graphics = used_by_graphics(known.value_or(0));
      number("memory_used", *memory_used_ - std::min(*memory_used_, graphics));
    }
    if (!known) return;
    const unsigned int count = *known;
    line.raw(",\"processes\":[");
    for (unsigned int i = 0; i < count && i < most_processes; ++i) {
      const std::size_t begin = line.size();
      if (i > 0 && process_bytes >= longest_processes) break;
      line.raw(i == 0 ? "{\"pid\":" : ",{\"pid\":");
      line.number(processes[i].pid);
      number("used", processes[i].used_gpu_memory);
      line.raw("}");
      if (i > 0) process_bytes += line.size() - begin;
    }
    line.raw("]");
  }

  static inline std::size_t process_bytes = 0;  // of all GPUs, beyond the first of each

  const Nvml& nvml_;
  Device device_;
  unsigned int index_;
  unsigned int count_;
  std::optional<unsigned long long> memory_used_;
  const char* why_ = "";
};

void describe_system(const Nvml& nvml) {
  char driver[text_size] = {};
  if (nvml("nvmlSystemGetDriverVersion", static_cast<char*>(driver), text_size) == success) {
    line.raw("\"driver\":");
    line.text(driver, longest_text);
  } else {
    line.raw("\"driver\":\"\"");
  }
  // The version is 1000 * major + 10 * minor.
  int cuda = 0;
  line.raw(",\"cuda\":\"");
  if (nvml("nvmlSystemGetCudaDriverVersion_v2", &cuda) == success && cuda > 0) {
    line.number(static_cast<unsigned int>(cuda) / 1'000);
    line.raw(".");
    line.number(static_cast<unsigned int>(cuda) % 1'000 / 10);
  }
  line.raw("\"");
}

// Fills `places` with the GPUs in bus order and returns their number.
unsigned int put_in_order(const Nvml& nvml, unsigned int count) {
  unsigned int used = 0;
  unsigned long long place = 0;
  for (unsigned int number = 0; number < count; ++number) {
    Device device = nullptr;
    const Return reached = nvml("nvmlDeviceGetHandleByIndex_v2", number, &device);
    // NVML counts this GPU, but this user may not use it (a container, a scheduler), and CUDA does
    // not show it either.
    if (reached == no_permission) continue;
    PciInfo pci;
    if (reached == success && nvml("nvmlDeviceGetPciInfo_v3", device, &pci) == success)
      place = static_cast<unsigned long long>(pci.domain) << 16 | (pci.bus & 0xff) << 8 |
              (pci.device & 0xff);
    unsigned int at = used++;
    for (; at > 0 && places[at - 1].place > place; --at) places[at] = places[at - 1];
    places[at] = {place, device, reached};
  }
  return used;
}

void describe_devices(const Nvml& nvml, unsigned int count) {
  const unsigned int used = put_in_order(nvml, count);
  for (unsigned int index = 0; index < used; ++index) {
    line.raw(index == 0 ? "{\"index\":" : ",{\"index\":");
    line.number(index);
    if (places[index].reached == success)
      Description(nvml, index, used).write();
    else
      Description::write_unreachable(nvml.words(places[index].reached));
    line.raw("}");
  }
}

// Whether NCCL could load the library that it needs for RDMA devices.
void describe_verbs() {
  line.raw(",\"verbs_trouble\":");
  const bool loads = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr;
  const char* words = loads ? "" : ::dlerror();
  line.text(words != nullptr ? words : "libibverbs.so.1 cannot be loaded", longest_trouble);
}

void report_trouble(const char* why) {
  line.raw("{\"driver\":\"\",\"cuda\":\"\",\"devices\":[],\"trouble\":");
  line.text(why, longest_trouble);
  describe_verbs();
  line.raw("}");
}

void describe_all() {
  // The library is never closed: the driver's libraries keep state of their own, and closing gains
  // nothing.
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* words = ::dlerror();
    return report_trouble(words != nullptr ? words : "libnvidia-ml.so.1 cannot be loaded");
  }
  const Nvml nvml(library);
  if (const Return status = nvml("nvmlInit_v2"); status != success)
    return report_trouble(nvml.words(status));
  line.raw("{");
  describe_system(nvml);
  unsigned int count = 0;
  const Return counted = nvml("nvmlDeviceGetCount_v2", &count);
  line.raw(",\"devices\":[");
  if (counted == success) describe_devices(nvml, count < most_devices ? count : most_devices);
  line.raw("],\"trouble\":");
  line.text(counted == success ? "" : nvml.words(counted), longest_trouble);
  describe_verbs();
  line.raw("}");
}

// Of a GPU in MIG mode the driver knows only its instances.
bool is_split(const Nvml& nvml, Device device) {
  unsigned int current = 0;
  unsigned int pending = 0;
  return nvml("nvmlDeviceGetMigMode", device, &current, &pending) == success &&
         current == feature_enabled;
}

void write_use(const Nvml& nvml, Device device) {
  char uuid[text_size] = {};
  if (nvml("nvmlDeviceGetUUID", device, static_cast<char*>(uuid), text_size) == success) {
    line.raw(",\"uuid\":");
    line.text(uuid, longest_text);
  }
  if (is_split(nvml, device)) return;
  Utilization busy;
  if (nvml("nvmlDeviceGetUtilizationRates", device, &busy) == success && busy.gpu <= 100) {
    line.raw(",\"busy\":");
    line.number(busy.gpu);
  }
  MemoryV2 exact;
  Memory memory;
  if (nvml("nvmlDeviceGetMemoryInfo_v2", device, &exact) == success)
    memory.used = exact.used;
  else if (nvml("nvmlDeviceGetMemoryInfo", device, &memory) != success)
    return;
  if (memory.used > largest) return;
  line.raw(",\"memory_used\":");
  line.number(memory.used);
}

// False if nobody reads it.
bool write_uses(const Nvml& nvml, unsigned int count) {
  line.clear();
  line.raw("{\"devices\":[");
  for (unsigned int index = 0; index < count; ++index) {
    line.raw(index == 0 ? "{\"index\":" : ",{\"index\":");
    line.number(index);
    if (places[index].reached == success) write_use(nvml, places[index].device);
    line.raw("}");
  }
  line.raw("]}\n");
  return line.write(STDOUT_FILENO);
}

// Waits; false once standard input has ended. What comes there before is skipped.
bool goes_on_after(int seconds) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (::poll(&input, 1, seconds * 1'000) <= 0) return true;
  char skipped[64];
  return ::read(STDIN_FILENO, skipped, sizeof skipped) > 0;
}

// The library is loaded once: on a host with eight idle GPUs that may take it some seconds.
int watch(int seconds) {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  const Nvml nvml(library);
  unsigned int count = 0;
  if (nvml("nvmlInit_v2") != success || nvml("nvmlDeviceGetCount_v2", &count) != success) return 0;
  count = put_in_order(nvml, count < most_devices ? count : most_devices);
  if (count == 0) return 0;
  do {
    if (!write_uses(nvml, count)) return 1;
  } while (goes_on_after(seconds));
  return 0;
}

// A number of seconds from 1 to 9999; else 0.
int seconds_of(const char* word) {
  int seconds = 0;
  std::size_t size = 0;
  for (; word[size] >= '0' && word[size] <= '9' && size < 4; ++size)
    seconds = seconds * 10 + (word[size] - '0');
  return word[size] == '\0' ? seconds : 0;
}

int write_line() {
  describe_all();
  line.raw("\n");
  return line.write(STDOUT_FILENO) ? 0 : 1;
}

int run(int count, const char* const* words) {
  if (count > 1 && std::strcmp(words[1], "allreduce") == 0)
    return run_allreduce(count - 1, words + 1);
  if (count > 1 && std::strcmp(words[1], "watch") == 0) {
    const int seconds = count == 3 ? seconds_of(words[2]) : 0;
    return seconds > 0 ? watch(seconds) : 1;
  }
  return write_line();
}

}  // namespace

}  // namespace train::devices

// Gets the initial stack from the kernel: the number of arguments, then the arguments. Ends without
// nvmlShutdown and destructors, which might hang: the end of the process releases everything.
extern "C" [[noreturn]] void train_devices_main(const long* stack) {
  ::_exit(train::devices::run(static_cast<int>(*stack),
                              reinterpret_cast<const char* const*>(stack + 1)));
}

// A _start of our own: the standard one, linked with glibc 2.34 or later, needs a function of that
// version. The dynamic loader has already initialized libc, and nothing else needs it.
#if defined(__x86_64__)
__asm__(
    ".globl _start\n_start:\n\txorl %ebp, %ebp\n\tmovq %rsp, %rdi\n\tandq $-16, %rsp\n\tcall "
    "train_devices_main\n\thlt\n");
#elif defined(__aarch64__)
__asm__(
    ".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x0, sp\n\tbl "
    "train_devices_main\n\tbrk #0\n");
#else
int main(int count, char** words) { ::_exit(train::devices::run(count, words)); }
#endif
