// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>

// GCC's unwinder, which is part of this binary, calls _dl_find_object, which glibc has since 2.35.
// This definition, made of dl_iterate_phdr, replaces it, so that the binary also runs on hosts with
// glibc 2.34. It is called only when an exception is thrown.

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
  bool found = false;
};

int visit(dl_phdr_info* info, std::size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  std::uintptr_t lowest = UINTPTR_MAX;
  std::uintptr_t highest = 0;
  const ElfW(Phdr)* frames = nullptr;
  bool contains = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    const std::uintptr_t end = begin + header.p_memsz;
    if (header.p_type == PT_GNU_EH_FRAME) frames = &header;
    if (header.p_type != PT_LOAD) continue;
    lowest = begin < lowest ? begin : lowest;
    highest = end > highest ? end : highest;
    contains = contains || (search.address >= begin && search.address < end);
  }
  if (!contains) return 0;
  if (frames == nullptr) return 1;
  std::memset(search.result, 0, sizeof *search.result);
  search.result->dlfo_map_start = reinterpret_cast<void*>(lowest);
  search.result->dlfo_map_end = reinterpret_cast<void*>(highest);
  search.result->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + frames->p_vaddr);
  search.found = true;
  return 1;
}

}  // namespace

extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  dl_iterate_phdr(visit, &search);
  return search.found ? 0 : -1;
}
