// SPDX-License-Identifier: Apache-2.0
#include "backends/store/task_bundle.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/own_folder.hpp"
#include "backends/registry/private_directory.hpp"

namespace train {

namespace {

constexpr std::size_t largest_file = std::size_t{256} << 20;
constexpr const char* request_name = "request.json";
constexpr const char* context_name = "context.tar";
constexpr std::string_view program_prefix = "program-";

constexpr std::string_view maker = {ELF_NOTE_GNU, sizeof ELF_NOTE_GNU};  // including its
                                                                         // terminating zero

std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// dl_iterate_phdr(3) visits the program itself first; returning 1 stops it there.
int find_build_id(dl_phdr_info* info, std::size_t, void* found) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
    const char* const end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const char* const text = name + aligned(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz) == maker)
        for (std::size_t byte = 0; byte < note.n_descsz; ++byte)
          *static_cast<std::string*>(found) +=
              fmt::format("{:02x}", static_cast<unsigned char>(text[byte]));
      at = text + aligned(note.n_descsz);
    }
  }
  return 1;
}

// A copy is a convenience (for users who replace their `train` or change their code while tasks
// run), so it never takes more than a sixteenth of the free space.
bool has_room_for(std::uint64_t bytes, const std::string& folder) {
  constexpr std::uint64_t parts = 16;
  struct statvfs room {};
  return ::statvfs(folder.c_str(), &room) == 0 &&
         std::uint64_t{room.f_bavail} * room.f_frsize / parts > bytes;
}

bool has_room_for_program(const std::string& folder) {
  struct stat program {};
  return ::stat("/proc/self/exe", &program) == 0 &&
         has_room_for(static_cast<std::uint64_t>(program.st_size), folder);
}

Result<void> copy_program(const std::string& path) {
  const Descriptor from(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!from) return could_not("read", "/proc/self/exe", errno);
  const Descriptor to(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0700));
  if (!to) return could_not("make", path, errno);
  char buffer[256 << 10];
  while (true) {
    const ssize_t count = read_some(from.get(), buffer, sizeof buffer);
    if (count < 0) return could_not("read", "/proc/self/exe", errno);
    if (count == 0) break;
    if (const int error = write_whole(to.get(), {buffer, static_cast<std::size_t>(count)}); error)
      return could_not("write", path, error);
  }
  if (::fsync(to.get()) != 0) return could_not("write", path, errno);
  return {};
}

Result<void> sync_folder(const std::string& folder) {
  const Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open || ::fsync(open.get()) != 0) return could_not("write", folder, errno);
  return {};
}

Result<void> write_request(const std::string& folder, std::string_view request) {
  const std::string partial = folder + "/.request";
  const std::string path = fmt::format("{}/{}", folder, request_name);
  const Descriptor file(
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::fchmod(file.get(), 0600) != 0) return could_not("make", partial, errno);
  if (const int error = write_whole(file.get(), request); error != 0)
    return could_not("write", partial, error);
  if (::fsync(file.get()) != 0) return could_not("write", partial, errno);
  if (::rename(partial.c_str(), path.c_str()) != 0) return could_not("make", path, errno);
  return sync_folder(folder);
}

}  // namespace

std::string own_build_id() {
  std::string id;
  (void)::dl_iterate_phdr(find_build_id, &id);
  return id;
}

Result<void> keep_request(const std::string& folder, std::string_view request) {
  if (auto made = make_private_directory(folder); !made) return made;
  return write_request(folder, request);
}

// Links the copy that other tasks share; if there is none, makes one that others can share.
Result<void> keep_program(const std::string& folder, const std::string& programs) {
  const std::string id = own_build_id();
  if (id.empty()) return {};
  for (const std::string& needed : {folder, programs})
    if (auto made = make_private_directory(needed); !made) return made;
  const std::string own = fmt::format("{}/{}{}", folder, program_prefix, id);
  const std::string common = fmt::format("{}/{}", programs, id);
  if (::link(common.c_str(), own.c_str()) == 0 || errno == EEXIST) return {};
  if (!has_room_for_program(folder)) return {};
  const std::string partial = folder + "/.partial";
  if (auto copied = copy_program(partial); !copied) {
    (void)::unlink(partial.c_str());  // it may have taken all free space
    return copied;
  }
  if (::rename(partial.c_str(), own.c_str()) != 0) return could_not("make", own, errno);
  // On a file system without hard links, each task keeps its own copy.
  (void)::link(own.c_str(), common.c_str());
  return {};
}

// The reader checks the checksum: the file need not be synced, nor complete.
Result<void> keep_context(const std::string& folder, std::string_view archive) {
  if (auto made = make_private_directory(folder); !made) return made;
  if (!has_room_for(archive.size(), folder)) return {};
  const std::string path = fmt::format("{}/{}", folder, context_name);
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || ::fchmod(file.get(), 0600) != 0) return could_not("make", path, errno);
  if (const int error = write_whole(file.get(), archive); error != 0) {
    (void)::unlink(path.c_str());  // it may have taken all free space
    return could_not("write", path, error);
  }
  return {};
}

std::string read_context(const std::string& folder) {
  return read_small_file(fmt::format("{}/{}", folder, context_name), largest_file);
}

Result<std::string> read_bundle(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, request_name);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return could_not("read", path, errno);
  const bool is_own =
      S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!is_own || size > largest_file)
    return fail(
        ErrorClass::no_input,
        fmt::format("'{}' is not what train has written: not yours alone, or too large", path));
  std::string text(size, '\0');
  if (read_whole(file.get(), text.data(), size) != static_cast<ssize_t>(size))
    return could_not("read", path, errno);
  return text;
}

std::string kept_program(const std::string& folder) {
  constexpr std::size_t most_names = 16;
  const std::string id = own_build_id();
  for (const std::string& name : names_in(FolderReader(folder), most_names))
    if (name.starts_with(program_prefix) && name.substr(program_prefix.size()) != id)
      return fmt::format("{}/{}", folder, name);
  return {};
}

void remove_bundle(const std::string& task_folder, const std::string& programs) {
  const Descriptor folder(
      ::open(task_folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const std::atomic<bool> cancelled = false;
  if (!folder || remove_tree(folder.get(), bundle_name, cancelled) != 0) return;
  // The program of this build stays, so that the next launch need not copy it again.
  const std::string own = own_build_id();
  FolderReader reader(programs);
  while (const char* name = reader ? reader.next() : nullptr) {
    struct stat status {};
    if (::fstatat(reader.descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(status.st_mode) && status.st_nlink == 1 && own != name)
      (void)::unlinkat(reader.descriptor(), name, 0);
  }
}

}  // namespace train
